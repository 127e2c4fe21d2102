/** Instance parameters of PostgreSQL: those that can be set for one database of a shared server. */
import type { DatabasePlan } from "../catalog.ts";
import { type ParameterChecks, type Parameters, refuseParameter } from "./parameters.ts";

const numbers = ["statement_timeout", "idle_in_transaction_session_timeout", "temp_file_limit"];
const words = [
  "work_mem",
  "maintenance_work_mem",
  "effective_cache_size",
  "track_io_timing",
  "synchronous_commit",
  "client_min_messages",
  "log_statement",
  "log_error_verbosity",
];
/** Changes the connection limit instead of a setting. */
const connections = "max_connections";
const temporaryFiles = "temp_file_limit";

/** Checks by the name of the parameter; each throws `BrokerError` 400. */
export const postgresParameters: ParameterChecks = {
  ...Object.fromEntries([connections, ...numbers].map((name) => [name, checkNumber])),
  ...Object.fromEntries(words.map((name) => [name, checkWord])),
};

function checkNumber(field: string, value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= -1) return value;
  throw refuseParameter(field, value, "a whole number from -1");
}

function checkWord(field: string, value: unknown): string {
  if (typeof value === "string" && /^[\w.]{1,32}$/.test(value)) return value;
  throw refuseParameter(field, value, "a short word or size such as 4MB");
}

/** Returns the settings of the database, by name. Temporary files are limited to the smaller of plan and parameter. */
export function databaseSettings(
  plan: DatabasePlan,
  parameters: Parameters,
): Readonly<Record<string, string>> {
  const limited: Parameters = {
    ...parameters,
    [temporaryFiles]: smaller(plan.temporaryFilesKb, parameters[temporaryFiles], 0),
  };
  const set = [...numbers, ...words].filter((name) => limited[name] !== undefined);
  return Object.fromEntries(set.map((name) => [name, String(limited[name])]));
}

/** Returns how many sessions are allowed at the same time: the smaller of plan and parameter. */
export function connectionLimit(plan: DatabasePlan, parameters: Parameters): number {
  return smaller(plan.connectionLimit, parameters[connections], 1);
}

/** A parameter below `least` means as much as the plan gives. */
function smaller(planned: number, wanted: unknown, least: number): number {
  return typeof wanted === "number" && wanted >= least ? Math.min(planned, wanted) : planned;
}
