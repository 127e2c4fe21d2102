/**
 * Reads an object of a cluster into a small view: the only place where `explain` meets what others wrote. Texts come out on one line, without
 * control characters and bounded, times in one form; a field of another shape counts as missing.
 */
import { plainText, syncerFinalizer } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  isDnsSubdomain,
  numberAt,
  recordsAt,
  textAt,
  valueAt,
  wholeSeconds,
} from "@klutch/kube-core";
import { isFresh } from "@klutch/sync";

/** A condition, as its writer said it. */
export interface Said {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** RFC 3339 with whole seconds; undefined for a default, which has no time. */
  readonly at: string | undefined;
  readonly generation: number | undefined;
}

/** A write of the object, by a field manager. */
export interface Edit {
  readonly by: string;
  readonly at: string | undefined;
}

/** An object as far as its way is concerned. */
export interface ObjectView {
  readonly kind: string;
  readonly group: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly generation: number | undefined;
  readonly createdAt: string | undefined;
  /** Set while it is being deleted. */
  readonly deletedAt: string | undefined;
  /** True if a konnector of the cluster holds it by its finalizer. */
  readonly isHeld: boolean;
  /** True if its status is the default of its CRD, or there is none and no konnector holds it. */
  readonly isUntouched: boolean;
  /** True if Crossplane is told to leave it alone. */
  readonly isPaused: boolean;
  /** The last write of the spec that no konnector made. */
  readonly edited: Edit | undefined;
  /** The last write of a konnector, other than of the status. */
  readonly syncedAt: string | undefined;
  /** The last write of the status, by the clock of the object's cluster. */
  readonly reportedAt: string | undefined;
  readonly statusGeneration: number | undefined;
  /** The first of each type. */
  readonly conditions: readonly Said[];
  readonly managed: ManagedStatus | undefined;
  /** Name of the Secret that the claim orders from Crossplane (`spec.writeConnectionSecretToRef`). */
  readonly ordered: string | undefined;
}

/** The claim's `status.managed`: facts about its managed resource that function-klutch writes and konnectors bring down. */
export interface ManagedStatus {
  readonly state: string | undefined;
  readonly createdAt: string | undefined;
  readonly provisionedAt: string | undefined;
  readonly updatedAt: string | undefined;
  /** Name of the Secret with the credentials. */
  readonly secret: string | undefined;
  readonly conditions: readonly Said[];
}

/** Bounds of everything that is read and shown. A status may have a megabyte. */
const mostConditions = 30;
const wordLimit = 100;
const messageLimit = 600;
/** Managers whose writes are not edits of a person. */
const ownManagers = /^(?:klutch\.anynines\.com|konnector)/;

/** Reads the view. */
export function viewOf(object: DynamicObject): ObjectView {
  const { apiVersion, kind, metadata, status } = object;
  const slash = apiVersion.indexOf("/");
  const writes = editsIn(metadata.managedFields, undefined);
  return {
    kind: plainText(kind, wordLimit),
    group: slash < 0 ? "" : plainText(apiVersion.slice(0, slash), wordLimit),
    namespace: metadata.namespace,
    name: metadata.name ?? "",
    generation: metadata.generation,
    createdAt: timeOf(metadata.creationTimestamp),
    deletedAt: timeOf(metadata.deletionTimestamp),
    isHeld: metadata.finalizers?.includes(syncerFinalizer) === true,
    isUntouched: isUntouched(object),
    isPaused: metadata.annotations?.["crossplane.io/paused"] === "true",
    edited: lastEdit(writes.filter(({ by }) => !ownManagers.test(by))),
    syncedAt: lastEdit(writes.filter(({ by }) => ownManagers.test(by)))?.at,
    reportedAt: lastEdit(editsIn(metadata.managedFields, "status"))?.at,
    statusGeneration: numberAt(status, "observedGeneration"),
    conditions: saidIn(object),
    managed: managedOf(valueAt(status, "managed")),
    ordered: nameAt(object.spec, "writeConnectionSecretToRef", "name"),
  };
}

/** A cluster that marks claims at admission gives them the finalizer before a konnector has seen them. */
function isUntouched({ status, metadata }: DynamicObject): boolean {
  if (isFresh(status)) return true;
  return status === undefined && metadata.finalizers?.includes(syncerFinalizer) !== true;
}

/** Returns true if a claim names its Composition, or selects one. */
export function choosesComposition({ spec }: DynamicObject): boolean {
  return ["compositionRef", "compositionSelector"].some((field) => valueAt(spec, field) !== undefined);
}

/** Returns a time as RFC 3339 with whole seconds; undefined for another text, and for the time of defaults, 1970. */
export function timeOf(value: unknown): string | undefined {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value))
    return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) || time <= 0 ? undefined : wholeSeconds(time);
}

/** Reads the conditions, each type once. */
export function saidIn(object: { readonly status?: unknown }): readonly Said[] {
  const byType = new Map<string, Said>();
  const all = conditionsOf(object);
  // The generation and time are not among the fields that `conditionsOf` checks.
  for (const condition of all.slice(0, mostConditions)) {
    const { type, status, reason = "", message = "" } = condition;
    if (byType.has(type)) continue;
    byType.set(type, {
      type: plainText(type, wordLimit),
      status: status === "True" || status === "False" ? status : "Unknown",
      reason: plainText(reason, wordLimit),
      message: plainText(message, messageLimit),
      at: timeOf(valueAt(condition, "lastTransitionTime")),
      generation: numberAt(condition, "observedGeneration"),
    });
  }
  return [...byType.values()];
}

/** Returns the condition of a type. */
export function saidOf({ conditions }: Pick<ObjectView, "conditions">, type: string): Said | undefined {
  return findCondition(conditions, type);
}

/** Returns the name of the Secret with the claim's credentials: the managed resource's, else the ordered one once the claim is ready. */
export function secretNameOf(
  view: Pick<ObjectView, "managed" | "ordered" | "conditions">,
): string | undefined {
  const isReady = saidOf(view, "Ready")?.status === "True";
  return view.managed?.secret ?? (isReady ? view.ordered : undefined);
}

function nameAt(value: unknown, ...path: readonly string[]): string | undefined {
  const name = textAt(value, ...path);
  return name !== undefined && isDnsSubdomain(name) ? name : undefined;
}

function managedOf(value: unknown): ManagedStatus | undefined {
  if (valueAt(value) === undefined || typeof value !== "object") return undefined;
  const state = textAt(value, "state");
  return {
    state: state === undefined ? undefined : plainText(state, wordLimit),
    createdAt: timeOf(textAt(value, "createdAt")),
    provisionedAt: timeOf(textAt(value, "provisionedAt")),
    updatedAt: timeOf(textAt(value, "updatedAt")),
    secret: nameAt(value, "credentials", "name"),
    conditions: saidIn({ status: value }),
  };
}

function editsIn(managedFields: readonly unknown[] = [], subresource: string | undefined): readonly Edit[] {
  return recordsAt({ managedFields: managedFields.slice(0, 100) }, "managedFields")
    .filter((entry) => textAt(entry, "subresource") === subresource)
    .map((entry) => ({
      by: plainText(textAt(entry, "manager") ?? "", wordLimit),
      at: timeOf(textAt(entry, "time")),
    }))
    .filter(({ by }) => by !== "");
}

function lastEdit(edits: readonly Edit[]): Edit | undefined {
  return edits.toSorted((one, other) => ((one.at ?? "") < (other.at ?? "") ? 1 : -1))[0];
}
