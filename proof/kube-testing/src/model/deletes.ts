/** Deleting: preconditions, finalizers, and the special ends of namespaces and CustomResourceDefinitions. */
import type { DeleteOptions } from "@klutch/kube";
import type { ObjectRef } from "@klutch/kube-core";
import { at, type JsonObject, objectAt, objectsAt, textAt, textsAt, withFields, withMeta } from "./json.ts";
import { crdFamily, type Served } from "./resources.ts";
import { conflict, notFound, unfulfilled } from "./status-errors.ts";
import { keyOfRef, type ServerContext } from "./writes.ts";

/** Keeps a CustomResourceDefinition until its objects are gone. */
export const crdCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** The finalizers of the garbage collector, by the policies that ask for them. */
const collectors = { Orphan: "orphan", Foreground: "foregroundDeletion", Background: undefined } as const;
const isCollector = (finalizer: string): boolean => Object.values<unknown>(collectors).includes(finalizer);

/**
 * Marks an object that finalizers hold; else returns a function that removes it. The real server takes its time between the two, too, and
 * does not read finalizers again: one that was added in between, and acknowledged, does not keep the object. Throws 404 and, for
 * preconditions, 409.
 */
export function beginRemoval(
  context: ServerContext,
  resource: Served,
  ref: ObjectRef,
  options: DeleteOptions = {},
): (() => void) | undefined {
  const { store } = context;
  const { family } = resource;
  const key = keyOfRef(resource, ref);
  const existing = store.get(family, key);
  if (existing === undefined) throw notFound(resource, ref.name);
  assertPreconditions(resource, existing, options);
  if (options.dryRun === true) return undefined;
  const isDeleting = at(existing, "metadata", "deletionTimestamp") !== undefined;
  const finalizers = finalizersAfter(existing, options);
  if (family === crdFamily && !isDeleting) {
    store.put(family, markedDefinition(context, existing));
  } else if (finalizers.length > 0) {
    store.put(family, marked(context, withMeta(existing, { finalizers })));
  } else if (family === "namespaces" && textsAt(existing, "spec", "finalizers").length > 0) {
    const status = { phase: "Terminating" };
    const deletionTimestamp = at(existing, "metadata", "deletionTimestamp") ?? context.now();
    store.put(family, withFields(withMeta(existing, { deletionTimestamp }), { status }));
  } else {
    return () => {
      if (store.get(family, key) !== undefined) store.remove(family, key);
    };
  }
  return undefined;
}

function assertPreconditions(resource: Served, existing: JsonObject, { preconditions }: DeleteOptions): void {
  const name = textAt(existing, "metadata", "name");
  const { uid, resourceVersion } = preconditions ?? {};
  const live = textAt(existing, "metadata", "uid");
  if (uid !== undefined && uid !== live) {
    const what = `the UID in the precondition (${uid}) does not match the UID in record (${live})`;
    throw unfulfilled(resource, name, `${what}. The object might have been deleted and then recreated`);
  }
  const version = textAt(existing, "metadata", "resourceVersion");
  if (resourceVersion !== undefined && resourceVersion !== version) {
    const what = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${version})`;
    throw conflict(`${what}. The object might have been modified`);
  }
}

/** The propagation policy adds and removes the garbage collector's own finalizers. */
function finalizersAfter(existing: JsonObject, { propagationPolicy }: DeleteOptions): readonly string[] {
  const present = textsAt(existing, "metadata", "finalizers");
  const own = present.find(isCollector);
  const wanted = propagationPolicy === undefined ? own : collectors[propagationPolicy];
  if (wanted === own) return present;
  const others = present.filter((finalizer) => !isCollector(finalizer));
  return wanted === undefined ? others : [...others, wanted];
}

function marked(context: ServerContext, object: JsonObject): JsonObject {
  const generation = at(object, "metadata", "generation");
  const isFirst = at(object, "metadata", "deletionTimestamp") === undefined;
  return withMeta(object, {
    generation: isFirst && typeof generation === "number" && generation > 0 ? generation + 1 : generation,
    deletionTimestamp: at(object, "metadata", "deletionTimestamp") ?? context.now(),
    deletionGracePeriodSeconds: 0,
  });
}

function markedDefinition(context: ServerContext, crd: JsonObject): JsonObject {
  const present = textsAt(crd, "metadata", "finalizers");
  const finalizers = present.includes(crdCleanupFinalizer) ? present : [...present, crdCleanupFinalizer];
  const condition = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: context.now(),
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  };
  const others = objectsAt(crd, "status", "conditions").filter(({ type }) => type !== "Terminating");
  const status = withFields(objectAt(crd, "status"), { conditions: [...others, condition] });
  return withFields(withMeta(crd, { finalizers, deletionTimestamp: context.now() }), { status });
}
