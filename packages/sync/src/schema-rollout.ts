/** Decides whether a new schema may replace the one of a CRD in use. Existing objects decide, not the schemas alone. */
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

/** Effect of a schema change on an object. */
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

/** A schema that takes the place of another: objects that are listed in version `from` are to fit that of `to`. */
interface VersionMove {
  readonly from: VersionView;
  readonly to: VersionView;
}

/** Differences between two specs of a CRD that objects may not survive. */
interface Comparison {
  readonly changes: readonly string[];
  /** Versions with a named change. */
  readonly moves: readonly VersionMove[];
}

/** Holds objects against the CRD that is to replace the one they were made under, with no more work than one check may be. */
export class SchemaTrial {
  /** Changes that existing objects may not survive; empty when the new CRD takes all that the present one takes. */
  readonly changes: readonly string[];
  /** Versions in which objects have to be listed; none when no object can suffer. */
  readonly versions: readonly string[];
  readonly #effort = new Effort(lookSteps);
  readonly #reader = new SchemaReader(this.#effort);
  readonly #schemas: ReadonlyMap<string, readonly JsonSchema[]>;

  /** `current` and `wanted` are a CRD's specs. */
  constructor(current: unknown, wanted: unknown) {
    const { changes, moves } = compare(current, wanted);
    this.changes = changes;
    this.#schemas = Map.groupBy(moves, ({ from }) => from.name)
      .entries()
      .reduce(
        (map, [name, group]) =>
          map.set(
            name,
            group.map(({ to }) => withoutEnvelope(to.schema)),
          ),
        new Map<string, readonly JsonSchema[]>(),
      );
    this.versions = [...this.#schemas.keys()];
  }

  /** The problems of an object that was listed in one of the versions; undefined when there are none. */
  affected(object: DynamicObject): AffectedObject | undefined {
    const schemas = this.#schemas.get(object.apiVersion.split("/").at(-1) ?? "") ?? [];
    // The server keeps these whatever the schema says.
    const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...fields } = object;
    const problems = new Set(schemas.flatMap((schema) => this.#problemsOf(schema, fields)));
    return problems.size === 0 ? undefined : { key: keyOf(object), problems: [...problems] };
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

function compare(current: unknown, wanted: unknown): Comparison {
  const moves = movesOf(current, wanted);
  const reader = new SchemaReader(new Effort(compareSteps));
  try {
    const compared = moves.map((move) => ({ move, changes: changesOf(move, reader) }));
    return {
      changes: [...noLongerServed(current, wanted), ...compared.flatMap(({ changes }) => changes)],
      moves: compared.filter(({ changes }) => changes.length > 0).map(({ move }) => move),
    };
  } catch (error) {
    if (error instanceof EffortError) return { changes: [tooMuchWork], moves };
    throw error;
  }
}

/**
 * Each version that goes on being served gets its own new schema. Objects get that of the version in which they will be stored and synced: between
 * versions only `apiVersion` is changed (conversion `None`), so what that one does not know is lost.
 */
function movesOf(current: unknown, wanted: unknown): readonly VersionMove[] {
  const [before, after] = [servedIn(current), servedIn(wanted)];
  const moves = before.flatMap((from) => {
    const to = after.find(({ name }) => name === from.name);
    return to === undefined ? [] : [{ from, to }];
  });
  const [from, to] = [storedIn(before), storedIn(after)];
  return from === undefined || to === undefined || from.name === to.name ? moves : [...moves, { from, to }];
}

function changesOf({ from, to }: VersionMove, reader: SchemaReader): readonly string[] {
  const version = from.name === to.name ? to.name : `${to.name} in place of ${from.name}`;
  return breakingChanges(from.schema, to.schema, reader).map(
    ({ field, change }) => `${version} ${field === "" ? "(root)" : field}: ${change}`,
  );
}

function noLongerServed(current: unknown, wanted: unknown): readonly string[] {
  const after = new Set(servedIn(wanted).map(({ name }) => name));
  const gone = servedIn(current).filter(({ name }) => !after.has(name));
  return gone.map(({ name }) => `version ${name} is no longer served`);
}

const servedIn = (spec: unknown): readonly VersionView[] =>
  versionsOf(spec).filter(({ raw }) => raw["served"] !== false);

function storedIn(served: readonly VersionView[]): VersionView | undefined {
  return served.find(({ raw }) => raw["storage"] === true) ?? served[0];
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
