/** Instance parameters of PostgreSQL: those that can be set for one database of a shared server. */
import type { DatabasePlan } from "./catalog.ts";
import { type ParameterChecks, type Parameters, refuseParameter } from "./parameter-checks.ts";

const settings: ReadonlyMap<string, { readonly setting: string; readonly type: "number" | "string" }> =
  new Map([
    ["statement_timeout", { setting: "statement_timeout", type: "number" }],
    [
      "idle_in_transaction_session_timeout",
      { setting: "idle_in_transaction_session_timeout", type: "number" },
    ],
    ["temp_file_limit", { setting: "temp_file_limit", type: "number" }],
    ["work_mem", { setting: "work_mem", type: "string" }],
    ["maintenance_work_mem", { setting: "maintenance_work_mem", type: "string" }],
    ["effective_cache_size", { setting: "effective_cache_size", type: "string" }],
    ["track_io_timing", { setting: "track_io_timing", type: "string" }],
    ["synchronous_commit", { setting: "synchronous_commit", type: "string" }],
    ["client_min_messages", { setting: "client_min_messages", type: "string" }],
    ["log_statement", { setting: "log_statement", type: "string" }],
    ["log_error_verbosity", { setting: "log_error_verbosity", type: "string" }],
  ]);

/** Changes the connection limit instead of a setting. */
const connections = "max_connections";
const temporaryFiles = "temp_file_limit";

/** By name; each throws `BrokerError` 400. */
export const postgresParameters: ParameterChecks = Object.fromEntries(
  [[connections, "number"] as const, ...[...settings].map(([name, { type }]) => [name, type] as const)].map(
    ([name, type]) => [name, (field: string, value: unknown) => checkValue(field, value, type)],
  ),
);

function checkValue(field: string, value: unknown, type: "number" | "string"): string | number {
  if (type === "number" && typeof value === "number" && Number.isInteger(value) && value >= -1) return value;
  if (type === "string" && typeof value === "string" && /^[\w.]{1,32}$/.test(value)) return value;
  const wanted = type === "number" ? "a whole number from -1" : "a short word or size such as 4MB";
  throw refuseParameter(field, value, wanted);
}

/** Settings of the database, by name. */
export function databaseSettings(
  plan: DatabasePlan,
  parameters: Parameters,
): readonly (readonly [string, string])[] {
  const limited: Parameters = { ...parameters, [temporaryFiles]: temporaryFilesLimit(plan, parameters) };
  return [...settings].flatMap(([name, { setting }]) => {
    const value = limited[name];
    return value === undefined ? [] : [[setting, String(value)] as const];
  });
}

/** Sessions at the same time: the smaller of plan and parameter. */
export function connectionLimit(plan: DatabasePlan, parameters: Parameters): number {
  const wanted = parameters[connections];
  return typeof wanted === "number" && wanted > 0
    ? Math.min(plan.connectionLimit, wanted)
    : plan.connectionLimit;
}

/** Kilobytes of a session: the smaller of plan and parameter, because the disk is everybody's; -1 means as much as the plan gives. */
function temporaryFilesLimit(plan: DatabasePlan, parameters: Parameters): number {
  const wanted = parameters[temporaryFiles];
  return typeof wanted === "number" && wanted >= 0
    ? Math.min(plan.temporaryFilesKb, wanted)
    : plan.temporaryFilesKb;
}
