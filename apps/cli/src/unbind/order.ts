/**
 * Decides in which order bound APIs go, and who still uses a claim. A field `spec.<word>Ref` of an API names a claim of the kinds whose names
 * end in that word: `instanceRef` names a claim of PostgresqlInstance. No I/O.
 */
import { type DynamicObject, keyOfRef, recordsAt, recordAt, textAt } from "@klutch/kube-core";

/** The part of an API that decides about its place. */
export interface ApiShape {
  /** `<plural>.<group>`. */
  readonly name: string;
  readonly kind: string;
  /** Fields of its spec that name other claims, such as `instanceRef`. */
  readonly references: readonly string[];
}

/** A claim, as far as it matters to the order. */
export interface SurveyedClaim {
  readonly api: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly isDeleting: boolean;
  /** Text fields of its spec by name. */
  readonly fields: Readonly<Record<string, string>>;
}

const suffix = "Ref";

/** Reads the shape from a CustomResourceDefinition. */
export function shapeOf({ metadata, ...crd }: DynamicObject): ApiShape {
  const fields = recordsAt(crd, "spec", "versions").flatMap((version) =>
    Object.keys(recordAt(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")),
  );
  return {
    name: metadata.name ?? "",
    kind: textAt(crd, "spec", "names", "kind") ?? "",
    references: [...new Set(fields.filter((field) => field.endsWith(suffix)))],
  };
}

/** Returns true if a field of this name may name a claim of this kind. */
function mayName(field: string, kind: string): boolean {
  const word = wordOf(field);
  return word !== "" && kind.toLowerCase().endsWith(word);
}

function wordOf(field: string): string {
  return field.endsWith(suffix) ? field.slice(0, -suffix.length).toLowerCase() : "";
}

/** Sorts the names: users before what they use, then APIs with claims that are being deleted, then by name. */
export function inOrder(shapes: readonly ApiShape[], deleting: ReadonlySet<string>): readonly string[] {
  const ranks = new Map(shapes.map((shape) => [shape.name, rankOf(shape, shapes, new Set())]));
  return shapes
    .map(({ name }) => name)
    .toSorted(
      (left, right) =>
        (ranks.get(left) ?? 0) - (ranks.get(right) ?? 0) ||
        Number(deleting.has(right)) - Number(deleting.has(left)) ||
        (left < right ? -1 : 1),
    );
}

/** Length of the longest chain of users. APIs that use each other in a circle count once. */
function rankOf(shape: ApiShape, shapes: readonly ApiShape[], seen: ReadonlySet<string>): number {
  const path = new Set([...seen, shape.name]);
  const users = shapes.filter(
    ({ name, references }) => !path.has(name) && references.some((field) => mayName(field, shape.kind)),
  );
  return users.reduce((most, user) => Math.max(most, 1 + rankOf(user, shapes, path)), 0);
}

/** A claim that is being deleted while claims that stay use it. */
export interface BlockedClaim {
  /** `<plural.group> <namespace>/<name>`. */
  readonly claim: string;
  readonly users: readonly string[];
}

/** Finds them. Where another field of the user says which kind is meant, as `serviceInstanceType: postgresql`, only that kind counts. */
export function blockedClaims(claims: readonly SurveyedClaim[]): readonly BlockedClaim[] {
  const kinds = new Set(claims.map(({ kind }) => kind.toLowerCase()));
  return claims
    .filter(({ isDeleting }) => isDeleting)
    .map((claim) => ({
      claim: labelOf(claim),
      users: claims.filter((user) => uses(user, claim, kinds)).map(labelOf),
    }))
    .filter(({ users }) => users.length > 0);
}

function uses(user: SurveyedClaim, used: SurveyedClaim, kinds: ReadonlySet<string>): boolean {
  if (user.isDeleting || user.namespace !== used.namespace) return false;
  return Object.entries(user.fields).some(([field, value]) => {
    if (value !== used.name || !mayName(field, used.kind)) return false;
    const meant = Object.values(user.fields)
      .map((text) => `${text.toLowerCase()}${wordOf(field)}`)
      .filter((kind) => kinds.has(kind));
    return meant.length === 0 || meant.includes(used.kind.toLowerCase());
  });
}

/** `<plural.group> <namespace>/<name>`, for people. */
export function labelOf({ api, namespace, name }: SurveyedClaim): string {
  return `${api} ${keyOfRef({ namespace, name })}`;
}
