/** Instance parameters that can be set for one database of a shared server. */
import type { Plan } from "./catalog.ts";
import { BrokerError } from "./errors.ts";

/** Parameters as the broker keeps them. */
export type Parameters = Readonly<Record<string, string | number>>;

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

/** Checks parameters; `null` takes one back. Throws `BrokerError` 400 that names the field, the value and what is possible. */
export function checkParameters(value: unknown): Readonly<Record<string, string | number | null>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw refuse("parameters", value, "an object");
  const checked: Record<string, string | number | null> = {};
  for (const [name, field] of Object.entries(value)) {
    const known = name === connections ? { type: "number" } : settings.get(name);
    if (known === undefined) {
      const possible = [connections, ...settings.keys()].join(", ");
      throw new BrokerError(
        400,
        "InvalidParameters",
        `parameters.${name} is not supported by this broker; possible: ${possible}`,
      );
    }
    checked[name] = checkValue(name, field, known.type);
  }
  return checked;
}

function checkValue(name: string, value: unknown, type: string): string | number | null {
  if (value === null) return null;
  if (type === "number" && typeof value === "number" && Number.isInteger(value) && value >= -1) return value;
  if (type === "string" && typeof value === "string" && /^[\w.]{1,32}$/.test(value)) return value;
  throw refuse(
    `parameters.${name}`,
    value,
    type === "number" ? "a whole number from -1" : "a short word or size such as 4MB",
  );
}

function refuse(field: string, value: unknown, wanted: string): BrokerError {
  return new BrokerError(
    400,
    "InvalidParameters",
    `${field} is ${JSON.stringify(value)}, but ${wanted} is needed`,
  );
}

/** The present parameters with the changes applied. */
export function mergeParameters(
  present: Parameters,
  changes: Readonly<Record<string, string | number | null>>,
): Parameters {
  const merged = { ...present, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string | number] => entry[1] !== null),
  );
}

/** Settings of the database, by name. */
export function databaseSettings(plan: Plan, parameters: Parameters): readonly (readonly [string, string])[] {
  const limited: Parameters = { ...parameters, [temporaryFiles]: temporaryFilesLimit(plan, parameters) };
  return [...settings].flatMap(([name, { setting }]) => {
    const value = limited[name];
    return value === undefined ? [] : [[setting, String(value)] as const];
  });
}

/** Sessions at the same time: the smaller of plan and parameter. */
export function connectionLimit(plan: Plan, parameters: Parameters): number {
  const wanted = parameters[connections];
  return typeof wanted === "number" && wanted > 0
    ? Math.min(plan.connectionLimit, wanted)
    : plan.connectionLimit;
}

/** Kilobytes of a session: the smaller of plan and parameter, because the disk is everybody's; -1 means as much as the plan gives. */
function temporaryFilesLimit(plan: Plan, parameters: Parameters): number {
  const wanted = parameters[temporaryFiles];
  return typeof wanted === "number" && wanted >= 0
    ? Math.min(plan.temporaryFilesKb, wanted)
    : plan.temporaryFilesKb;
}
