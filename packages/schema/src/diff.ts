/**
 * Compares a schema with the one that replaces it, as seen by existing objects. A change is `breaking` when a value that the old
 * schema takes may be refused or lose fields under the new one, and `compatible` otherwise.
 *
 * | keyword | breaking | compatible |
 * |---|---|---|
 * | type, list type | any change | – (but `integer` → `number`, anything → none) |
 * | properties | removed without `preserve-unknown-fields` | added |
 * | required | added, default or not: stored objects are not defaulted before they are compared | removed |
 * | enum, pattern, bounds, CEL rules | added or stricter; another pattern | removed or wider |
 * | nullable, preserve-unknown-fields, additionalProperties | taken away | given |
 * | default | – | any change |
 *
 * `anyOf`, `oneOf`, `allOf`, `not`, `multipleOf`, `uniqueItems` and exclusive bounds are compared as text: any difference but their
 * removal is breaking. Descriptions are no change.
 */
import { SchemaReader } from "./reader.ts";
import type { JsonSchema } from "./schema.ts";
import { isLower } from "./validate.ts";
import { limits, type SchemaView } from "./view.ts";

/** One difference. */
export interface SchemaChange {
  /** Path of the field, as `spec.claims[].version`; `*` stands for the keys of a map, empty is the root. */
  readonly field: string;
  readonly severity: "breaking" | "compatible";
  /** The difference, worded for a person. */
  readonly change: string;
}

/** All differences, outer ones first; empty when the two take the same values. Throws `EffortError` when the reader's effort is spent. */
export function diffSchemas(
  before: JsonSchema,
  after: JsonSchema,
  field = "",
  reader: SchemaReader = new SchemaReader(),
): readonly SchemaChange[] {
  const old = reader.viewOf(before);
  const next = reader.viewOf(after);
  reader.effort.spend(10 + (sizeOf(old) + sizeOf(next)) / 4);
  const changes: Change[] = [
    ...typeChanges(old, next),
    ...flagChanges(old, next, reader),
    ...textChanges(old, next),
    ...boundChanges(old, next),
    ...setChanges(old, next),
    ...combinatorChanges(before, after, old.integerOrString || next.integerOrString, reader),
  ];
  return [
    ...changes.map(([severity, change]): SchemaChange => ({ field, severity, change })),
    ...propertyChanges(old, next, field, reader),
    ...diffOf(old.items ?? {}, next.items ?? {}, `${field}[]`, reader),
    ...diffOf(unknownFields(old), unknownFields(next), join(field, "*"), reader),
  ];
}

/** Lists the changes that may harm existing objects. Throws `EffortError` when the reader's effort is spent. */
export function breakingChanges(
  before: JsonSchema,
  after: JsonSchema,
  reader?: SchemaReader,
): readonly SchemaChange[] {
  return diffSchemas(before, after, "", reader).filter(({ severity }) => severity === "breaking");
}

const uncheckedKeywords: readonly string[] = [
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "uniqueItems",
];

type Change = readonly ["breaking" | "compatible", string];

function typeChanges(old: SchemaView, next: SchemaView): readonly Change[] {
  const changes: Change[] = [];
  const from = typeText(old);
  const to = typeText(next);
  if (from !== to) {
    const wider = to === "any" || (from === "integer" && (to === "number" || to === "integer or string"));
    const widerString = from === "string" && to === "integer or string";
    changes.push([wider || widerString ? "compatible" : "breaking", `type changes from ${from} to ${to}`]);
  }
  const oldList = listText(old);
  const nextList = listText(next);
  if (oldList !== nextList) {
    changes.push([
      nextList === "atomic" ? "compatible" : "breaking",
      `list type changes from ${oldList} to ${nextList}`,
    ]);
  }
  return changes;
}

function typeText(view: SchemaView): string {
  return view.integerOrString ? "integer or string" : (view.type ?? "any");
}

function listText(view: SchemaView): string {
  const type = view.listType ?? "atomic";
  return type === "map" ? `map by ${view.mapKeys.join(", ")}` : type;
}

function flagChanges(old: SchemaView, next: SchemaView, reader: SchemaReader): readonly Change[] {
  const changes: Change[] = [];
  const flag = (before: boolean, after: boolean, what: string): void => {
    if (before !== after)
      changes.push([after ? "compatible" : "breaking", `${what} ${after ? "now" : "no longer"}`]);
  };
  flag(old.nullable, next.nullable, "takes null");
  flag(old.preservesUnknown, next.preservesUnknown, "keeps unknown fields");
  // From or to no type is reported as a change of the type.
  if ((old.type === undefined) === (next.type === undefined))
    flag(unknownFields(old) !== undefined, unknownFields(next) !== undefined, "takes fields of any name");
  if (reader.textOf(old.default) !== reader.textOf(next.default))
    changes.push(["compatible", `default changes from ${show(old.default)} to ${show(next.default)}`]);
  return changes;
}

function textChanges(old: SchemaView, next: SchemaView): readonly Change[] {
  const changes: Change[] = [];
  const keyword = (name: string, before: string | undefined, after: string | undefined): void => {
    if (before === after) return;
    const severity = after === undefined ? "compatible" : "breaking";
    changes.push([severity, `${name} changes from ${before ?? "none"} to ${after ?? "none"}`]);
  };
  keyword("pattern", old.pattern, next.pattern);
  keyword("format", old.format, next.format);
  return changes;
}

function boundChanges(old: SchemaView, next: SchemaView): readonly Change[] {
  return limits.flatMap((limit): readonly Change[] => {
    const before = old.limits[limit];
    const after = next.limits[limit];
    if (before === after) return [];
    const wider =
      after === undefined || (before !== undefined && (isLower(limit) ? after < before : after > before));
    return [
      [wider ? "compatible" : "breaking", `${limit} changes from ${before ?? "none"} to ${after ?? "none"}`],
    ];
  });
}

function setChanges(old: SchemaView, next: SchemaView): readonly Change[] {
  const changes: Change[] = [];
  const refused = next.enum === undefined ? [] : missing(next.enum, old.enum ?? []);
  if (old.enum === undefined && next.enum !== undefined)
    changes.push(["breaking", `only ${listed(next.enum)} are taken`]);
  else if (refused.length > 0) changes.push(["breaking", `no longer takes ${listed(refused)}`]);
  if (old.enum !== undefined) {
    const added = next.enum === undefined ? [] : missing(old.enum, next.enum);
    if (next.enum === undefined) changes.push(["compatible", "takes any value of its type"]);
    else if (added.length > 0) changes.push(["compatible", `also takes ${listed(added)}`]);
  }
  for (const name of missing(old.required, next.required))
    changes.push(["breaking", `${String(name)} is now required`]);
  for (const name of missing(next.required, old.required))
    changes.push(["compatible", `${String(name)} is no longer required`]);
  for (const rule of missing(old.rules, next.rules)) changes.push(["breaking", `new rule ${String(rule)}`]);
  for (const rule of missing(next.rules, old.rules))
    changes.push(["compatible", `no more rule ${String(rule)}`]);
  return changes;
}

/** Returns how many items of sets are compared. */
function sizeOf(view: SchemaView): number {
  return view.properties.size + view.required.length + view.rules.length + (view.enum?.length ?? 0);
}

/** Returns the `candidates` that `known` lacks. */
function missing(known: readonly unknown[], candidates: readonly unknown[]): readonly unknown[] {
  const texts = new Set(known.map((item) => JSON.stringify(item)));
  return candidates.filter((candidate) => !texts.has(JSON.stringify(candidate)));
}

/** Compares combinators. `hasTypes`: the `anyOf` of an integer-or-string field repeats its types. */
function combinatorChanges(
  before: JsonSchema,
  after: JsonSchema,
  hasTypes: boolean,
  reader: SchemaReader,
): readonly Change[] {
  return uncheckedKeywords.flatMap((keyword): readonly Change[] =>
    (hasTypes && keyword === "anyOf") || reader.textOf(before[keyword]) === reader.textOf(after[keyword])
      ? []
      : [[after[keyword] === undefined ? "compatible" : "breaking", `${keyword} changes`]],
  );
}

function propertyChanges(
  old: SchemaView,
  next: SchemaView,
  field: string,
  reader: SchemaReader,
): readonly SchemaChange[] {
  const removed = [...old.properties]
    .filter(([name]) => !next.properties.has(name))
    .flatMap(([name, schema]): readonly SchemaChange[] => {
      const after = unknownFields(next);
      if (after !== undefined) return diffSchemas(schema, after, join(field, name), reader);
      return [{ field: join(field, name), severity: "breaking", change: "the field is removed" }];
    });
  const others = [...next.properties].flatMap(([name, schema]): readonly SchemaChange[] => {
    const before = old.properties.get(name) ?? unknownFields(old);
    if (before !== undefined) return diffSchemas(before, schema, join(field, name), reader);
    return [{ field: join(field, name), severity: "compatible", change: "the field is added" }];
  });
  return [...removed, ...others];
}

/** Returns the schema of fields outside of `properties`; undefined if they are pruned. Without a type nothing is pruned. */
function unknownFields(view: SchemaView): JsonSchema | undefined {
  const isOpen = view.preservesUnknown || (view.type === undefined && !view.integerOrString);
  return view.additionalProperties ?? (isOpen ? {} : undefined);
}

/** Compares two schemas without another pair of views for parts that both leave open. */
function diffOf(
  before: JsonSchema | undefined,
  after: JsonSchema | undefined,
  field: string,
  reader: SchemaReader,
): readonly SchemaChange[] {
  if (before === undefined || after === undefined) return [];
  const open = Object.keys(before).length === 0 && Object.keys(after).length === 0;
  return open ? [] : diffSchemas(before, after, field, reader);
}

function join(field: string, name: string): string {
  return field === "" ? name : `${field}.${name}`;
}

/** Maximum number of values of a set to name. */
const namedLimit = 20;

function listed(values: readonly unknown[]): string {
  const rest = values.length - namedLimit;
  return values.slice(0, namedLimit).map(show).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

const shownLength = 200;

function show(value: unknown): string {
  const text = value === undefined ? "none" : JSON.stringify(value);
  return text.length > shownLength ? `${text.slice(0, shownLength - 1)}…` : text;
}
