/**
 * The claim that is made in the app cluster for an upstream object without one: adoption of what the provider made, and restoring what was lost
 * there with its CustomResourceDefinition. Only what a consumer wanted comes back: fields that our agents once wrote to the provider, or, of an
 * object that never was a claim's, what people wrote. What the control plane's machinery filled in stays its own (`resourceRef`,
 * `compositionRef`), and so do its marks (`kubectl.kubernetes.io/*`, `crossplane.io/*`).
 *
 * Who owned which field of the claim is not known any more, so after the claim is created no one owns them: `handOver` leaves only our own marks to
 * us. The user who applies first, client side or server side and under whatever name, takes its fields without a conflict.
 */
import {
  adoptedAnnotation,
  boundAnnotation,
  fieldManager,
  restoredAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import { type DynamicObject, isRecord, type ObjectRef, recordAt } from "@klutch/kube-core";
import { type FieldSet, legacyManager } from "./fields.ts";
import {
  entriesBackToConsumer,
  entriesForConsumer,
  filterMetadata,
  type MetadataRule,
} from "./metadata-rules.ts";

/**
 * The claim. Owner references and finalizers stay behind: they point at objects of the other cluster, and its garbage collector would
 * delete the copy. So do labels and annotations that steer an app cluster's machinery. It is born with our finalizer, with a mark that
 * stands until its fields are handed over, and with one that says who had it first.
 */
export function adoptedContent(
  provider: DynamicObject,
  target: ObjectRef,
  rule: MetadataRule,
): DynamicObject {
  const { wanted, isConsumers } = wantedPart(provider);
  const mayReachConsumer = isConsumers ? entriesBackToConsumer : entriesForConsumer;
  const metadata = recordAt(wanted, "metadata");
  const labels = mayReachConsumer(filterMetadata(texts(metadata["labels"]), rule));
  const annotations = mayReachConsumer(filterMetadata(texts(metadata["annotations"]), rule));
  const { metadata: _metadata, status: _status, apiVersion: _apiVersion, kind: _kind, ...fields } = wanted;
  return {
    apiVersion: provider.apiVersion,
    kind: provider.kind,
    ...fields,
    metadata: {
      ...target,
      ...(metadata["labels"] === undefined ? {} : { labels }),
      annotations: {
        ...annotations,
        [boundAnnotation]: "true",
        [adoptedAnnotation]: "true",
        [restoredAnnotation]: "true",
      },
      finalizers: [syncerFinalizer],
    },
  };
}

/** The JSON patch that leaves to us just what `addFinalizer` applies; every other field of the claim has no owner after it. */
export function handOver(claim: DynamicObject): readonly object[] {
  const { uid, resourceVersion, managedFields = [] } = claim.metadata;
  const others = managedFields.filter(
    (entry) => !isRecord(entry) || entry["manager"] !== fieldManager || entry["subresource"] !== undefined,
  );
  const marks = {
    "f:metadata": {
      // Not the mark of who had it first: what puts these two on again leaves that out, and it would go.
      "f:annotations": { [`f:${boundAnnotation}`]: {} },
      "f:finalizers": { [`v:${JSON.stringify(syncerFinalizer)}`]: {} },
    },
  };
  const own = {
    manager: fieldManager,
    operation: "Apply",
    apiVersion: claim.apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1: marks,
  };
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    { op: "replace", path: "/metadata/managedFields", value: [...others, own] },
    { op: "remove", path: `/metadata/annotations/${restoredAnnotation.replace("/", "~1")}` },
  ];
}

/** Returns the fields that a consumer, or else a person of the provider, set on an upstream object with all its `managedFields`. */
function wantedPart(provider: DynamicObject): {
  readonly wanted: Readonly<Record<string, unknown>>;
  readonly isConsumers: boolean;
} {
  const entries = (provider.metadata.managedFields ?? [])
    .filter(isRecord)
    .filter((entry) => entry["subresource"] === undefined);
  const isOurs = ({ manager }: Readonly<Record<string, unknown>>): boolean =>
    manager === fieldManager || manager === legacyManager;
  // An unbound object still has an update of ours in its history: that its mark was taken off.
  const ours = entries.filter((entry) => isOurs(entry) && holdsContent(entry["fieldsV1"]));
  if (ours.length > 0) return { wanted: picked(ours, provider), isConsumers: true };
  const machinery = entries.filter(
    ({ manager }) => typeof manager === "string" && /crossplane/.test(manager),
  );
  const people = entries.filter((entry) => !isOurs(entry) && !machinery.includes(entry));
  const isMixed = people.length > 0 && machinery.length > 0;
  return { wanted: isMixed ? picked(people, provider) : { ...provider }, isConsumers: false };
}

function holdsContent(fields: unknown): boolean {
  return isRecord(fields) && Object.keys(fields).some((key) => key !== "f:metadata" && key !== "f:status");
}

function picked(
  entries: readonly Readonly<Record<string, unknown>>[],
  object: DynamicObject,
): Readonly<Record<string, unknown>> {
  const sets = entries.map((entry) => entry["fieldsV1"]).filter(isRecord);
  return recordAt(pick(sets, object));
}

/** Returns the parts of `value` at the fields of any of the sets; undefined when there are none. */
function pick(sets: readonly FieldSet[], value: unknown): unknown {
  // A set without inner fields holds the whole value.
  if (sets.some((fields) => Object.keys(fields).length === 0)) return value;
  if (Array.isArray(value)) {
    const items = value.flatMap((item, index) => {
      const inner = sets.flatMap((fields) => itemSets(fields, item, index));
      return inner.length === 0 ? [] : [pick(inner, item)];
    });
    return items;
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) => {
      const inner = sets.map((fields) => fields[`f:${name}`]).filter(isRecord);
      return inner.length === 0 ? [] : [[name, pick(inner, child)]];
    }),
  );
}

/** The fields that a set names of one item of a list. */
function itemSets(fields: FieldSet, item: unknown, index: number): readonly FieldSet[] {
  return Object.entries(fields).flatMap(([key, child]) => {
    if (!isRecord(child)) return [];
    const text = key.slice(2);
    if (key.startsWith("i:")) return Number(text) === index ? [child] : [];
    if (key.startsWith("v:")) return JSON.parse(text) === item ? [child] : [];
    if (!key.startsWith("k:")) return [];
    const keys: unknown = JSON.parse(text);
    const isMatch =
      isRecord(keys) && isRecord(item) && Object.entries(keys).every(([name, value]) => item[name] === value);
    return isMatch ? [child] : [];
  });
}

function texts(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isRecord(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
