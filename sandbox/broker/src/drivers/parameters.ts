/** Instance parameters: how a request changes them, and checks of which each driver has a table. */
import { BrokerError } from "../errors.ts";

/** One value. */
export type ParameterValue = string | number | boolean | readonly string[] | readonly unknown[];

/** Parameters as the broker keeps them. */
export type Parameters = Readonly<Record<string, ParameterValue>>;

/** Parameters of a request; `null` takes one back. */
export type ParameterChanges = Readonly<Record<string, ParameterValue | null>>;

/** Returns the value, or throws `BrokerError` 400 that names the field, the value and the allowed values. */
export type Check<T extends ParameterValue = ParameterValue> = (field: string, value: unknown) => T;

/** Checks by the name of the parameter. */
export type ParameterChecks = Readonly<Record<string, Check>>;

/** Checks the `parameters` of a request. */
export function checkParameters(value: unknown, checks: ParameterChecks): ParameterChanges {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw refuse("parameters", value, "an object");
  const checked = Object.entries(value).map(([name, field]): [string, ParameterValue | null] => {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check !== undefined) return [name, field === null ? null : check(`parameters.${name}`, field)];
    const possible = Object.keys(checks).join(", ");
    throw invalid(`parameters.${name} is not supported by this broker; possible: ${possible}`);
  });
  return Object.fromEntries(checked);
}

/** Applies the changes to the present parameters. */
export function mergeParameters(present: Parameters, changes: ParameterChanges): Parameters {
  const merged = Object.entries({ ...present, ...changes });
  return Object.fromEntries(merged.filter((entry): entry is [string, ParameterValue] => entry[1] !== null));
}

/** Accepts values that pass the test; `wanted` says which these are. */
function accepting<T extends ParameterValue>(wanted: string, test: (value: unknown) => value is T): Check<T> {
  return (field, value) => {
    if (test(value)) return value;
    throw refuse(field, value, wanted);
  };
}

/** Accepts texts that match. */
export const textLike = (pattern: RegExp, wanted: string): Check<string> =>
  accepting(wanted, (value): value is string => typeof value === "string" && pattern.test(value));

export function oneOf(...words: readonly string[]): Check<string> {
  const isOne = (value: unknown): value is string => typeof value === "string" && words.includes(value);
  return accepting(`one of ${words.join(", ")}`, isOne);
}

export function wholeNumber(least: number, most: number = Infinity): Check<number> {
  const isWithin = (value: unknown): value is number =>
    typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
  return accepting(`a whole number from ${least}${most === Infinity ? "" : ` to ${most}`}`, isWithin);
}

export const trueOrFalse: Check<boolean> = accepting("true or false", (value) => typeof value === "boolean");

export function listOf(check: Check<string>, most: number, wanted: string): Check<readonly string[]> {
  return (field, value) => {
    if (!Array.isArray(value)) throw refuse(field, value, wanted);
    if (value.length > most) throw refuse(field, value.length, `at most ${most} entries`);
    return value.map((each: unknown, index) => check(`${field}[${index}]`, each));
  };
}

/** Returns the smaller of the plan's value and the parameter's, which counts from `least` on. */
export function smaller(planned: number, wanted: unknown, least: number): number {
  return typeof wanted === "number" && wanted >= least ? Math.min(planned, wanted) : planned;
}

/** Returns the refusal of a value; `wanted` says which are possible. */
export function refuse(field: string, value: unknown, wanted: string): BrokerError {
  return invalid(`${field} is ${JSON.stringify(value)}, but ${wanted} is needed`);
}

function invalid(message: string): BrokerError {
  return new BrokerError(400, "InvalidParameters", message);
}
