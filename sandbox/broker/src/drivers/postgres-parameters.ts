/** Instance parameters of PostgreSQL: those that can be set for one database of a shared server. */
import type { DatabasePlan } from "../catalog.ts";
import { type ParameterChecks, type Parameters, smaller, textLike, wholeNumber } from "./parameters.ts";

const number = wholeNumber(-1);
const word = textLike(/^[\w.]{1,32}$/, "a short word or size such as 4MB");

const settings: ParameterChecks = {
  statement_timeout: number,
  idle_in_transaction_session_timeout: number,
  temp_file_limit: number,
  work_mem: word,
  maintenance_work_mem: word,
  effective_cache_size: word,
  track_io_timing: word,
  synchronous_commit: word,
  client_min_messages: word,
  log_statement: word,
  log_error_verbosity: word,
};

/** `max_connections` changes the connection limit instead of a setting. */
export const postgresParameters: ParameterChecks = { max_connections: number, ...settings };

/** Returns the settings of the database, by name. Temporary files are limited to the smaller of plan and parameter. */
export function databaseSettings(
  plan: DatabasePlan,
  parameters: Parameters,
): Readonly<Record<string, string>> {
  const files = smaller(plan.temporaryFilesKb, parameters["temp_file_limit"], 0);
  const all = Object.entries({ ...parameters, temp_file_limit: files });
  return Object.fromEntries(
    all.filter(([name]) => Object.hasOwn(settings, name)).map(([name, value]) => [name, String(value)]),
  );
}

/** Returns how many sessions are allowed at the same time: the smaller of plan and parameter. */
export function connectionLimit(plan: DatabasePlan, parameters: Parameters): number {
  return smaller(plan.connectionLimit, parameters["max_connections"], 1);
}
