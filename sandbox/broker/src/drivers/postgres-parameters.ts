/** Instance parameters of PostgreSQL: those that can be set for one database of a shared server. */
import type { Plan } from "../catalog.ts";
import { type ParameterChecks, type Parameters, smaller, textLike, wholeNumber } from "./parameters.ts";

const number = wholeNumber(-1);
const word = textLike(/^[\w.]{1,32}$/, "a short word or size such as 4MB");
const sizes = ["work_mem", "maintenance_work_mem", "effective_cache_size", "track_io_timing"];
const logging = ["synchronous_commit", "client_min_messages", "log_statement", "log_error_verbosity"];
const settings: ParameterChecks = {
  statement_timeout: number,
  idle_in_transaction_session_timeout: number,
  temp_file_limit: number,
  ...Object.fromEntries([...sizes, ...logging].map((name) => [name, word])),
};

/** `max_connections` changes the connection limit instead of a setting. */
export const postgresParameters: ParameterChecks = { max_connections: number, ...settings };

/** Returns the settings of the database, by name. Temporary files are limited to the smaller of plan and parameter. */
export function databaseSettings(plan: Plan, parameters: Parameters): Readonly<Record<string, string>> {
  const files = smaller(plan.diskMiB * 1024, parameters["temp_file_limit"], 0);
  const all = Object.entries({ ...parameters, temp_file_limit: files });
  return Object.fromEntries(
    all.filter(([name]) => Object.hasOwn(settings, name)).map(([name, value]) => [name, String(value)]),
  );
}

/** Returns how many sessions are allowed at the same time: the smaller of plan and parameter. */
export function connectionLimit(plan: Plan, parameters: Parameters): number {
  return smaller(plan.connectionLimit, parameters["max_connections"], 1);
}
