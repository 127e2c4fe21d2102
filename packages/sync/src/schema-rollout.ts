/** Whether a new schema may replace the one of a CRD whose objects are in use. Existing objects decide, not the schemas alone. */
import {
  breakingChanges,
  describeProblem,
  Effort,
  EffortError,
  type JsonSchema,
  problemsOf,
  prunedFields,
  SchemaReader,
} from "@klutch/schema";
import { type DynamicObject, keyOf, listAt, recordAt, recordsAt } from "@klutch/kube-core";

/** A version of a CRD, as far as it is compared. */
export interface VersionView {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly raw: Readonly<Record<string, unknown>>;
}

/** What a change of the schema would do to an object. */
export interface AffectedObject {
  /** `namespace/name`, or the name. */
  readonly key: string;
  /** Fields that would be refused or lost, with the reason. */
  readonly problems: readonly string[];
}

/** Steps for the comparison of two schemas, in one go: more than those of the largest that an API server keeps need. */
const compareSteps = 600_000;
/** Steps for one object, in one go, and for all objects of one check. */
const objectSteps = 200_000;
const lookSteps = 20_000_000;
const tooMuchWork = "(all): the schemas are too large to be compared here";
const uncheckable = "the new schema is too large to be checked here";

/** Changes that existing objects may not survive; empty when the new schema takes all that the old one takes. */
export function breakingVersionChanges(current: unknown, wanted: unknown): readonly string[] {
  try {
    return changesOf(current, wanted, new SchemaReader(new Effort(compareSteps)));
  } catch (error) {
    if (error instanceof EffortError) return [tooMuchWork];
    throw error;
  }
}

function changesOf(current: unknown, wanted: unknown, reader: SchemaReader): readonly string[] {
  const next = new Map(versionsOf(wanted).map((version) => [version.name, version]));
  const changes: string[] = [];
  for (const version of versionsOf(current)) {
    const after = next.get(version.name);
    if (after === undefined || after.raw["served"] === false) {
      if (version.raw["served"] !== false) changes.push(`version ${version.name} is no longer served`);
      continue;
    }
    for (const { field, change } of breakingChanges(version.schema, after.schema, reader)) {
      changes.push(`${version.name} ${field === "" ? "(root)" : field}: ${change}`);
    }
  }
  return changes;
}

/** Holds objects against the schemas of a CRD's spec, with no more work than one check may be. */
export class SchemaTrial {
  readonly #effort = new Effort(lookSteps);
  readonly #reader = new SchemaReader(this.#effort);
  readonly #schemas: ReadonlyMap<string, JsonSchema>;

  /** `wanted` is a CRD's spec. */
  constructor(wanted: unknown) {
    this.#schemas = new Map(versionsOf(wanted).map(({ name, schema }) => [name, withoutEnvelope(schema)]));
  }

  /** The object's problems under the schema of its version; undefined when there are none. */
  affected(object: DynamicObject): AffectedObject | undefined {
    const version = object.apiVersion.split("/").at(-1) ?? "";
    const key = keyOf(object);
    const schema = this.#schemas.get(version);
    if (schema === undefined) return { key, problems: [`version ${version} is no longer there`] };
    // The server keeps these whatever the schema says.
    const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...fields } = object;
    const problems = this.#problemsOf(schema, fields);
    return problems.length === 0 ? undefined : { key, problems };
  }

  #problemsOf(schema: JsonSchema, fields: object): readonly string[] {
    if (this.#effort.isSpent) return [uncheckable];
    this.#effort.startPart(objectSteps);
    try {
      return [
        ...problemsOf(schema, fields, "", this.#reader).map(describeProblem),
        ...prunedFields(schema, fields, "", this.#reader).map((field) => `${field}: would be lost`),
      ];
    } catch (error) {
      if (error instanceof EffortError) return [uncheckable];
      throw error;
    }
  }
}

/** Changes that cannot be decided with the objects here: they are rules in CEL or combinations of schemas. */
export function isUndecidable(change: string): boolean {
  return (
    change === tooMuchWork ||
    /: (new rule|anyOf|oneOf|allOf|not|multipleOf|uniqueItems|exclusiveM)/.test(change)
  );
}

/**
 * The wanted spec with those stored versions that it no longer has, not served: the API server refuses to drop a version in which
 * objects may still be stored.
 */
export function keepStoredVersions(
  wanted: Readonly<Record<string, unknown>>,
  current: unknown,
  storedVersions: readonly string[],
): Readonly<Record<string, unknown>> {
  const names = new Set(versionsOf(wanted).map(({ name }) => name));
  const kept = versionsOf(current)
    .filter(({ name }) => storedVersions.includes(name) && !names.has(name))
    .map(({ raw }) => ({ ...raw, served: false, storage: false }));
  if (kept.length === 0) return wanted;
  return { ...wanted, versions: [...listAt(wanted, "versions"), ...kept] };
}

/** The versions in a CRD's spec; none when it has no list of them. */
export function versionsOf(spec: unknown): readonly VersionView[] {
  return recordsAt(spec, "versions").map((raw) => {
    return { name: String(raw["name"]), schema: recordAt(raw, "schema", "openAPIV3Schema"), raw };
  });
}

function withoutEnvelope(schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    required: listAt(schema, "required").filter(
      (name) => name !== "apiVersion" && name !== "kind" && name !== "metadata",
    ),
  };
}
