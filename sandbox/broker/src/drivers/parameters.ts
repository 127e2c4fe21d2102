/** Instance parameters as the broker keeps them, and how drivers check theirs. */
import { BrokerError } from "../errors.ts";

/** One value. */
export type ParameterValue = string | number | boolean | readonly string[];

/** Parameters as the broker keeps them. */
export type Parameters = Readonly<Record<string, ParameterValue>>;

/** The same in a request: `null` takes one back. */
export type ParameterChanges = Readonly<Record<string, ParameterValue | null>>;

/** By name of the parameter. Gives back the value that counts, or throws `BrokerError` 400 that names field, value and what is possible. */
export type ParameterChecks = Readonly<Record<string, (field: string, value: unknown) => ParameterValue>>;

/** Checks the `parameters` of a request. */
export function checkParameters(value: unknown, checks: ParameterChecks): ParameterChanges {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw refuseParameter("parameters", value, "an object");
  const checked: Record<string, ParameterValue | null> = {};
  for (const [name, field] of Object.entries(value)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) {
      const possible = Object.keys(checks).join(", ");
      throw new BrokerError(
        400,
        "InvalidParameters",
        `parameters.${name} is not supported by this broker; possible: ${possible}`,
      );
    }
    checked[name] = field === null ? null : check(`parameters.${name}`, field);
  }
  return checked;
}

/** What is answered for a value that is not possible. */
export function refuseParameter(field: string, value: unknown, wanted: string): BrokerError {
  return new BrokerError(
    400,
    "InvalidParameters",
    `${field} is ${JSON.stringify(value)}, but ${wanted} is needed`,
  );
}

/** The present parameters with the changes applied. */
export function mergeParameters(present: Parameters, changes: ParameterChanges): Parameters {
  const merged = { ...present, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, ParameterValue] => entry[1] !== null),
  );
}
