/**
 * The controllers inside the model: CustomResourceDefinitions become served and, when deleted, take their objects with them; a
 * namespace that ends is emptied. They act when a write is complete, before any client can.
 */
import { beginRemoval, crdCleanupFinalizer } from "./deletes.ts";
import {
  at,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
  withFields,
  withMeta,
} from "./json.ts";
import { cleanMeta } from "./metadata.ts";
import { trackUpdate } from "./managed-fields.ts";
import { crdFamily, familyOf, type ResourceTable, type Served } from "./resources.ts";
import type { Change } from "./store.ts";
import { coerce } from "./structural.ts";
import { finishUpdate, keyOfRef, refOf, type ServerContext, writeOf } from "./writes.ts";

/** Options of the controllers. */
export interface ControllerOptions extends ServerContext {
  readonly resources: ResourceTable;
  /** True if namespaces that end are emptied. */
  readonly endsNamespaces: boolean;
  /** Called when a resource is no longer served as before: its watches end. */
  readonly onSchemaChange: (family: string) => void;
}

/** Starts all controllers. */
export function startControllers(options: ControllerOptions): void {
  options.store.onWrite((family, change) => {
    if (family === crdFamily) onDefinition(options, change);
    else if (change.object === undefined) onRemoval(options, family, change);
    if (family === "namespaces" && options.endsNamespaces && isEnding(change.object)) {
      emptyNamespace(options, change.key);
    }
  });
}

function isEnding(object: JsonObject | undefined): boolean {
  return at(object, "metadata", "deletionTimestamp") !== undefined;
}

function onDefinition(options: ControllerOptions, { object, previous }: Change): void {
  if (object === undefined) {
    const family = instancesOf(previous ?? {});
    options.resources.unregister(family);
    options.onSchemaChange(family);
    return;
  }
  if (isEnding(object)) {
    if (textsAt(object, "metadata", "finalizers").includes(crdCleanupFinalizer)) cleanUp(options, object);
    return;
  }
  if (!hasCondition(object, "NamesAccepted")) acceptNames(options, object);
  else if (!hasCondition(object, "Established")) establish(options, object);
  else if (specOf(object) !== specOf(previous)) serve(options, object);
}

function specOf(object: JsonObject | undefined): string {
  return JSON.stringify(object?.["spec"] ?? null);
}

function hasCondition(crd: JsonObject, type: string): boolean {
  return objectsAt(crd, "status", "conditions").some(
    (item) => item["type"] === type && item["status"] === "True",
  );
}

function acceptNames(options: ControllerOptions, crd: JsonObject): void {
  const condition = { type: "NamesAccepted", reason: "NoConflicts", message: "no conflicts found" };
  writeStatus(options, crd, condition, objectAt(crd, "spec", "names"));
}

function establish(options: ControllerOptions, crd: JsonObject): void {
  serve(options, crd);
  const message = "the initial names have been accepted";
  writeStatus(options, crd, { type: "Established", reason: "InitialNamesAccepted", message });
}

function writeStatus(
  options: ControllerOptions,
  crd: JsonObject,
  condition: { readonly type: string; readonly reason: string; readonly message: string },
  acceptedNames: Json | undefined = at(crd, "status", "acceptedNames"),
): void {
  const resource = options.resources.ofFamily(crdFamily);
  if (resource === undefined) return;
  const others = objectsAt(crd, "status", "conditions").filter(({ type }) => type !== condition.type);
  const conditions = [...others, { ...condition, status: "True", lastTransitionTime: options.now() }];
  const status = withFields(objectAt(crd, "status"), { acceptedNames, conditions });
  const how = { manager: "kube-apiserver", subresource: "status", isDryRun: false };
  const write = writeOf(options, resource, how);
  finishUpdate(write, crd, trackUpdate(crd, withFields(crd, { status }), write));
}

function instancesOf(crd: JsonObject): string {
  return familyOf({ group: textAt(crd, "spec", "group"), plural: textAt(crd, "spec", "names", "plural") });
}

function serve(options: ControllerOptions, crd: JsonObject): void {
  const family = instancesOf(crd);
  const served = objectsAt(crd, "spec", "versions").filter((version) => version["served"] === true);
  const names = objectAt(crd, "spec", "names");
  let storage: Served | undefined;
  for (const version of served) {
    const schema = objectAt(version, "schema", "openAPIV3Schema");
    const resource = options.resources.register({
      type: {
        group: textAt(crd, "spec", "group"),
        version: textAt(version, "name"),
        plural: textAt(names, "plural"),
        kind: textAt(names, "kind"),
        namespaced: textAt(crd, "spec", "scope") === "Namespaced",
      },
      statusSubresource: at(version, "subresources", "status") !== undefined,
      schema,
    });
    if (version["storage"] === true) storage = resource;
  }
  options.resources.unregister(family, new Set(served.map((version) => textAt(version, "name"))));
  const { schema } = storage ?? {};
  // The real server does this whenever it reads; what was pruned would come back with a wider schema.
  if (schema !== undefined) options.store.rewrite(family, (object) => coerce(cleanMeta(object), schema));
  options.onSchemaChange(family);
}

function cleanUp(options: ControllerOptions, crd: JsonObject): void {
  const family = instancesOf(crd);
  const resource = options.resources.ofFamily(family);
  if (resource !== undefined) removeAll(options, resource, options.store.list(family));
  if (options.store.list(family).length > 0) return;
  const name = textAt(crd, "metadata", "name");
  const live = options.store.get(crdFamily, name);
  if (live === undefined) return;
  const finalizers = textsAt(live, "metadata", "finalizers").filter((item) => item !== crdCleanupFinalizer);
  if (finalizers.length > 0) options.store.put(crdFamily, withMeta(live, { finalizers }));
  else options.store.remove(crdFamily, name);
}

function removeAll(options: ControllerOptions, resource: Served, objects: readonly JsonObject[]): void {
  for (const object of objects) {
    if (!isEnding(object)) beginRemoval(options, resource, refOf(resource, object))?.();
  }
}

/** Something is gone: perhaps it was the last that a definition or a namespace waited for. */
function onRemoval(options: ControllerOptions, family: string, { previous }: Change): void {
  const crd = options.store.get(crdFamily, family);
  if (crd !== undefined && isEnding(crd)) cleanUp(options, crd);
  const namespace = textAt(previous, "metadata", "namespace");
  if (options.endsNamespaces && isEnding(options.store.get("namespaces", namespace))) {
    emptyNamespace(options, namespace);
  }
}

/** Deletes the objects in the namespace, and the namespace itself once it is empty. */
function emptyNamespace(options: ControllerOptions, name: string): void {
  const { store, resources } = options;
  let isEmpty = true;
  for (const resource of resources.all()) {
    if (!resource.type.namespaced) continue;
    const inside = (): readonly JsonObject[] =>
      store.list(resource.family).filter((object) => textAt(object, "metadata", "namespace") === name);
    removeAll(options, resource, inside());
    isEmpty &&= inside().length === 0;
  }
  const namespace = store.get("namespaces", name);
  if (!isEmpty || namespace === undefined) return;
  if (textsAt(namespace, "metadata", "finalizers").length === 0) store.remove("namespaces", name);
  else store.put("namespaces", withFields(namespace, { spec: {} }));
}

/** Deletes every object whose owners are all gone, as the garbage collector would in time. True when there was one. */
export function collectGarbage(options: ControllerOptions): boolean {
  const { store, resources } = options;
  const families = new Map(resources.all().map((resource) => [resource.family, resource]));
  const all = [...families.values()].flatMap((resource) =>
    store.list(resource.family).map((object) => ({ resource, object })),
  );
  const uids = new Set(all.map(({ object }) => textAt(object, "metadata", "uid")));
  let hasRemoved = false;
  for (const { resource, object } of all) {
    const owners = objectsAt(object, "metadata", "ownerReferences");
    const isLost = owners.length > 0 && owners.every((owner) => !uids.has(textAt(owner, "uid")));
    const ref = refOf(resource, object);
    if (!isLost || isEnding(object) || store.get(resource.family, keyOfRef(resource, ref)) === undefined)
      continue;
    beginRemoval(options, resource, ref)?.();
    hasRemoved = true;
  }
  return hasRemoved;
}
