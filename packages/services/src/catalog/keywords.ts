/** Bounds of numbers and sizes: those of JSON Schema as those of a table, or as rules in CEL. */
import type { Warn } from "./notes.ts";
import type { SchemaPlace } from "./schema-place.ts";

/** A JSON Schema. */
export type Keywords = Readonly<Record<string, unknown>>;

interface Rule {
  readonly rule: string;
  readonly message: string;
}

type Rules = {
  readonly rules?: readonly Rule[];
};

type Bounds = Rules & {
  readonly minimum?: number;
  readonly maximum?: number;
};

/** Returns the bounds of a number; undefined after a warning when no number fits. */
export function boundsOf(
  type: "integer" | "number",
  schema: Keywords,
  place: SchemaPlace,
  warn: Warn,
): Bounds | undefined {
  const low = edge(schema, "minimum", "exclusiveMinimum");
  const high = edge(schema, "maximum", "exclusiveMaximum");
  const isWhole = type === "integer";
  const above = isWhole && low.over !== undefined ? Math.floor(low.over) + 1 : undefined;
  const below = isWhole && high.over !== undefined ? Math.ceil(high.over) - 1 : undefined;
  const minimum = most(Math.max, low.at, above);
  const maximum = most(Math.min, high.at, below);
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) {
    warn(`${place.field}.minimum`, minimum, `it is above the maximum ${maximum}; the field is left out`);
    return undefined;
  }
  const rules: Rule[] = [];
  if (!isWhole && low.over !== undefined)
    rules.push({ rule: `self > ${double(low.over)}`, message: `Must be greater than ${low.over}` });
  if (!isWhole && high.over !== undefined)
    rules.push({ rule: `self < ${double(high.over)}`, message: `Must be less than ${high.over}` });
  const { multipleOf: step } = schema;
  if (isWhole && typeof step === "number" && Number.isSafeInteger(step) && step > 0)
    rules.push({ rule: `self % ${step} == 0`, message: `Must be a multiple of ${step}` });
  else if (step !== undefined)
    warn(
      `${place.field}.multipleOf`,
      step,
      "a table keeps it for whole numbers only; only the broker checks it",
    );
  return {
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...affordable(rules, place, warn),
  };
}

/** Returns the rules about the size of a text or list. */
export function sizesOf(
  schema: Keywords,
  [least, greatest]: readonly [least: string, greatest: string | undefined],
  place: SchemaPlace,
  warn: Warn,
): Rules {
  const unit = least === "minLength" ? "characters" : "entries";
  const count = (name: string): number | undefined => {
    const value = schema[name];
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    return warn(`${place.field}.${name}`, value, "expected a whole number from 0; it is ignored");
  };
  const low = count(least);
  const high = greatest === undefined ? undefined : count(greatest);
  const rules: Rule[] = [];
  if (low !== undefined && low > 0)
    rules.push({ rule: `self.size() >= ${low}`, message: `Must have at least ${low} ${unit}` });
  if (high !== undefined)
    rules.push({ rule: `self.size() <= ${high}`, message: `Must have at most ${high} ${unit}` });
  return affordable(rules, place, warn);
}

/** Leaves out rules inside lists of lists: the API server estimates their cost as too high. */
function affordable(rules: readonly Rule[], { field, lists }: SchemaPlace, warn: Warn): Rules {
  if (rules.length === 0) return {};
  if (lists < 2) return { rules };
  for (const { rule } of rules)
    warn(field, rule, "too costly inside lists of lists; only the broker checks it");
  return {};
}

/** A bound that is reached, or one that is not: draft 4 has a truth value for the latter, later drafts a number. */
function edge(
  schema: Keywords,
  name: string,
  exclusive: string,
): { readonly at: number | undefined; readonly over: number | undefined } {
  const at = finite(schema[name]);
  return schema[exclusive] === true ? { at: undefined, over: at } : { at, over: finite(schema[exclusive]) };
}

function finite(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function most(
  choose: (one: number, other: number) => number,
  one: number | undefined,
  other: number | undefined,
): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return choose(one, other);
}

/** A number as CEL writes one that is not whole. */
export function double(value: number): string {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
