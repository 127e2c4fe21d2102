/** Rights of an accepted permission claim, in the form that decisions use, and the parts of a claim that cannot be honoured. */
import type { PermissionClaim } from "@klutch/api";
import { contains, type DynamicObject, type ObjectRef, valueAt } from "@klutch/kube-core";
import { type KeyPath, parseKeyPath } from "./field-path.ts";

/** One requirement of a field selector. */
interface FieldRequirement {
  readonly path: readonly string[];
  readonly equals: boolean;
  readonly value: string;
}

/** An accepted claim. Names and namespaces are the consumer's; `*` is any; an empty list restricts nothing. */
export interface CompiledPermissionClaim {
  readonly owner: "Provider" | "Consumer" | undefined;
  readonly names: readonly string[];
  readonly namespaces: readonly string[];
  /** One of these maps must be contained in the labels. */
  readonly labelSelectors: readonly Readonly<Record<string, string>>[];
  /** One of these must hold; the requirements of one must all hold. */
  readonly fieldSelectors: readonly (readonly FieldRequirement[])[];
  /** New objects of the consumer become the provider's. */
  readonly autoAdopt: boolean;
  /** New objects of the provider become the consumer's. */
  readonly autoDonate: boolean;
  readonly replaceExisting: boolean;
  readonly recreateWhenConsumerSideDeleted: boolean;
  readonly alwaysRecreate: boolean;
  /** Fields that may change in the other side's object once it exists; all when empty. */
  readonly fields: readonly KeyPath[];
  /** Fields that keep the consumer's value. */
  readonly preserving: readonly KeyPath[];
  readonly labels: MetadataPropagation;
  readonly annotations: MetadataPropagation;
}

/** Key patterns that say which labels or annotations are propagated; undefined: all, an empty list: none. */
export interface MetadataPropagation {
  /** From the consumer's own objects to the provider. */
  readonly toProvider: readonly string[] | undefined;
  /** From the provider's own objects to the consumer. */
  readonly toConsumer: readonly string[] | undefined;
  /** Set by the consumer on copies of the provider's objects: they go to the provider, and the consumer's value wins. */
  readonly copyToProvider: readonly string[];
  /** Set by the provider on copies of the consumer's objects: they go to the consumer. */
  readonly copyToConsumer: readonly string[];
}

/** The form of a claim that decisions use. What `claimFaults` names is left out; ask it first. */
export function compilePermissionClaim(claim: PermissionClaim): CompiledPermissionClaim {
  const { selector = {}, read = {}, update = {} } = claim;
  return {
    owner: selector.owner,
    names: selector.names ?? ["*"],
    namespaces: selector.namespaces ?? ["*"],
    labelSelectors: selector.labelSelectors ?? [],
    fieldSelectors: (selector.fieldSelectors ?? []).map((text) => parseFieldSelector(text) ?? []),
    autoAdopt: claim.autoAdopt === true,
    autoDonate: claim.autoDonate === true,
    replaceExisting: claim.create?.replaceExisting === true,
    recreateWhenConsumerSideDeleted: claim.onConflict?.recreateWhenConsumerSideDeleted !== false,
    alwaysRecreate: update.alwaysRecreate === true,
    fields: pathsOf(update.fields),
    preserving: pathsOf(update.preserving),
    labels: {
      toProvider: patternsOf(read.labels),
      toConsumer: patternsOf(update.labels),
      copyToProvider: patternsOf(read.labelsOnProviderOwnedObjects) ?? [],
      copyToConsumer: patternsOf(update.labelsOnConsumerOwnedObjects) ?? [],
    },
    annotations: {
      toProvider: patternsOf(read.annotations),
      toConsumer: patternsOf(update.annotations),
      copyToProvider: patternsOf(read.overrideAnnotations) ?? [],
      copyToConsumer: patternsOf(update.annotationsOnConsumerOwnedObjects) ?? [],
    },
  };
}

/** A claim without any restriction or option, for objects of one owner. */
export function unrestrictedClaim(owner: CompiledPermissionClaim["owner"]): CompiledPermissionClaim {
  return compilePermissionClaim({
    resource: "",
    version: "",
    selector: owner === undefined ? {} : { owner },
  });
}

/**
 * Why a claim cannot be honoured as it is written; empty when it can. `clusterWide` says whether the export's informer scope is
 * `Cluster`, `namespaced` whether the claimed resource is.
 */
export function claimFaults(
  claim: PermissionClaim,
  context: { readonly namespaced: boolean; readonly clusterWide: boolean },
): readonly string[] {
  const what = `permission claim on ${claim.resource}${claim.group === undefined || claim.group === "" ? "" : `.${claim.group}`}`;
  const paths = (name: "fields" | "preserving"): string[] =>
    (claim.update?.[name] ?? [])
      .filter((text) => parseKeyPath(text) === undefined)
      .map(
        (text) =>
          `${what}: update.${name} has "${text}", expected a path of field names outside of metadata and status, such as spec.size or data['tls.crt']`,
      );
  const selectors = (claim.selector?.fieldSelectors ?? [])
    .filter((text) => parseFieldSelector(text) === undefined)
    .map(
      (text) =>
        `${what}: selector.fieldSelectors has "${text}", expected requirements such as type=Opaque,metadata.name!=x`,
    );
  const scope =
    !context.namespaced && !context.clusterWide
      ? [
          `${what}: the resource is cluster-scoped, which needs an export with informerScope Cluster; this one has Namespaced`,
        ]
      : [];
  return [...paths("fields"), ...paths("preserving"), ...selectors, ...scope];
}

/** Returns true if a claim covers the object of this consumer reference. Label and field selectors read `object`. */
export function isSelected(
  claim: CompiledPermissionClaim,
  ref: ObjectRef,
  object: DynamicObject | undefined,
): boolean {
  const listed = (list: readonly string[], value: string): boolean =>
    list.length === 0 || list.includes("*") || list.includes(value);
  if (!listed(claim.names, ref.name)) return false;
  if (ref.namespace !== undefined && !listed(claim.namespaces, ref.namespace)) return false;
  if (
    claim.labelSelectors.length > 0 &&
    !claim.labelSelectors.some((wanted) => contains(object?.metadata.labels ?? {}, wanted))
  )
    return false;
  if (claim.fieldSelectors.length === 0) return true;
  // A field selector names the consumer's object, so name and namespace are the consumer's on both sides.
  const seen = { ...object, metadata: { ...object?.metadata, ...ref } };
  return claim.fieldSelectors.some((requirements) =>
    requirements.every(({ path, equals, value }) => (printedAt(seen, path) === value) === equals),
  );
}

function parseFieldSelector(text: string): readonly FieldRequirement[] | undefined {
  const requirements: FieldRequirement[] = [];
  for (const part of text.split(",")) {
    const match = /^\s*([\w.[\]'"-]+?)\s*(==|=|!=)\s*(.*?)\s*$/.exec(part);
    if (match === null) return undefined;
    const [, path = "", operator, value = ""] = match;
    requirements.push({ path: path.split("."), equals: operator !== "!=", value });
  }
  return requirements;
}

function printedAt(object: unknown, path: KeyPath): string {
  const value = valueAt(object, ...path);
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

function pathsOf(texts: readonly string[] | undefined): readonly KeyPath[] {
  return (texts ?? []).map(parseKeyPath).filter((path) => path !== undefined);
}

function patternsOf(
  list: readonly { readonly pattern: string }[] | undefined,
): readonly string[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list.map(({ pattern }) => pattern);
}
