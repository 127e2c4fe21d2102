/** Validates and completes an object on its way into the store, after `registry/rest` and `registry/generic` of apiserver. */
import { type Random } from "@klutch/kube";
import { apiVersionOf, jsonEqual, keyOfRef as keyOf, namespaces, type ObjectRef } from "@klutch/kube-core";
import { describeProblem, problemsOf } from "@klutch/schema";
import { at, type JsonObject, objectAt, objectsAt, textAt, textsAt, withFields, withMeta } from "./json.ts";
import { type WriteContext } from "./managed-fields.ts";
import { metaProblems } from "./metadata.ts";
import { crdFamily, type Served } from "./resources.ts";
import {
  alreadyExists,
  badRequest,
  forbidden,
  internal,
  invalid,
  modified,
  notFound,
  unfulfilled,
} from "./status-errors.ts";
import type { Store } from "./store.ts";

/** The parts of the server that a write uses. */
export interface ServerContext {
  readonly store: Store;
  /** The wall clock, RFC 3339 with whole seconds. */
  readonly now: () => string;
  readonly newUid: () => string;
  readonly random: Random;
}

/** Parameters of a write. */
export interface WriteParameters {
  readonly manager: string;
  /** Empty for the main resource. */
  readonly subresource: string;
  readonly isDryRun: boolean;
  /** A create that was asked for as such; an apply may create as well. */
  readonly isPost?: boolean | undefined;
  /** Called when an apply creates the object. */
  readonly onCreated?: (() => void) | undefined;
  /** Empty metadata fields that are stored with the object. */
  readonly blanks?: JsonObject | undefined;
}

const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/** The store's key. Throws `RangeError` when the reference does not fit the scope, as the real client does. */
export function keyOfRef(resource: Served, ref: ObjectRef): string {
  const { kind, namespaced } = resource.type;
  if (namespaced !== (ref.namespace !== undefined)) {
    const rule = namespaced ? "a namespace is required" : "cluster-scoped object has no namespace";
    throw new RangeError(`${kind} ${ref.name}: ${rule}`);
  }
  return keyOf(ref);
}

/** Objects are kept in the version in which they were written; readers get the version they ask for. */
export function inVersion(resource: Served, object: JsonObject): JsonObject {
  const apiVersion = apiVersionOf(resource.type);
  return object["apiVersion"] === apiVersion ? object : Object.freeze({ ...object, apiVersion });
}

/** A write of one resource under way. */
export interface Write extends WriteContext, WriteParameters {
  readonly server: ServerContext;
  readonly resource: Served;
}

/** Prepares a write, with the fields that its endpoint ignores. */
export function writeOf(server: ServerContext, resource: Served, how: WriteParameters): Write {
  const isStatus = how.subresource === "status";
  const reset = isStatus ? ["f:spec"] : resource.statusSubresource ? ["f:status"] : [];
  // Of custom resources since Kubernetes 1.36; before, labels in a write of the status got an owner although they were not stored.
  if (isStatus && (resource.family === crdFamily || !resource.isCompiled)) reset.push("f:metadata");
  const apiVersion = apiVersionOf(resource.type);
  const { atom } = resource;
  return { ...how, server, resource, atom, apiVersion, resetFields: new Set(reset), now: server.now() };
}

/** Refuses a create if its namespace does not exist or ends, or if its kind is being deleted. */
export function admitCreate({ server: { store }, resource }: Write, object: JsonObject): void {
  const name = textAt(object, "metadata", "name");
  if (resource.type.namespaced) {
    const namespace = textAt(object, "metadata", "namespace");
    const found = store.get("namespaces", namespace);
    if (found === undefined) throw notFound({ type: namespaces }, namespace);
    if (textAt(found, "status", "phase") === "Terminating") {
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
      throw forbidden(resource, name, why);
    }
  }
  if (at(store.get(crdFamily, resource.family), "metadata", "deletionTimestamp") !== undefined) {
    throw forbidden(resource, name, "create not allowed while custom resource definition is terminating");
  }
}

/** The end of every create: system fields, validation, storage. The object has its owners already. */
export function finishCreate(write: Write, object: JsonObject): JsonObject {
  const { server, resource, isPost, isDryRun, blanks } = write;
  const { store } = server;
  const prefix = textAt(object, "metadata", "generateName");
  let name = textAt(object, "metadata", "name");
  if (name === "" && prefix !== "") name = prefix + randomSuffix(server.random);
  let next = withMeta(object, {
    name: name === "" ? undefined : name,
    uid: server.newUid(),
    creationTimestamp: server.now(),
    generation: resource.tracksGeneration ? 1 : undefined,
    resourceVersion: undefined,
  });
  if (resource.statusSubresource) next = withFields(next, { status: undefined });
  next = resource.prepare(next, undefined);
  assertValid(write, name, next, undefined);
  if (isPost === true && textAt(object, "metadata", "resourceVersion") !== "") {
    throw internal("resourceVersion should not be set on objects to be created");
  }
  const existing = store.get(resource.family, keyOfRef(resource, refOf(resource, next)));
  if (existing !== undefined) {
    throw alreadyExists(resource, name, at(existing, "metadata", "deletionTimestamp") !== undefined);
  }
  return isDryRun ? next : store.put(resource.family, next, blanks);
}

/** Ends every update. `next` has its owners already and is otherwise as the caller asked for it. */
export function finishUpdate(write: Write, existing: JsonObject, requested: JsonObject): JsonObject {
  const { server, resource, isDryRun, blanks = {} } = write;
  assertVersion(resource, existing, requested);
  let next = resource.prepare(prepareUpdate(write, existing, requested), existing);
  assertValid(write, textAt(existing, "metadata", "name"), next, existing);
  if (Object.keys(blanks).length === 0) next = keepTimes(next, existing);
  const isLast = at(existing, "metadata", "deletionTimestamp") !== undefined && !isHeld(resource, next);
  if (isDryRun) return next;
  if (!isLast) return server.store.put(resource.family, next, blanks);
  // The event shows the object as it was stored; the answer shows what the caller made of it.
  server.store.remove(resource.family, keyOfRef(resource, refOf(resource, existing)));
  return withMeta(next, blanks);
}

function assertValid(write: Write, name: string, next: JsonObject, existing: JsonObject | undefined): void {
  const { resource } = write;
  const problems = [
    ...metaProblems(next, resource.nameRule),
    ...(existing === undefined ? [] : updateProblems(next, existing)),
    ...schemaProblems(write, next),
    ...resource.validate(next, existing),
  ];
  if (problems.length > 0) throw invalid(resource, name, problems);
}

/** Checks that belong to a patch or an apply, whose result may be anything. */
export function assertSameIdentity(
  { resource }: Write,
  ref: ObjectRef,
  next: JsonObject,
  exists: boolean,
): void {
  const uid = textAt(next, "metadata", "uid");
  if (uid !== "" && !exists) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw unfulfilled(resource, ref.name, why);
  }
  if (textAt(next, "metadata", "namespace") !== (ref.namespace ?? "")) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const name = textAt(next, "metadata", "name");
  if (name !== ref.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${ref.name})`);
  }
}

function assertVersion(resource: Served, existing: JsonObject, requested: JsonObject): void {
  const name = textAt(existing, "metadata", "name");
  const version = textAt(requested, "metadata", "resourceVersion");
  if (version === "" || version === "0") {
    if (resource.allowsUnconditionalUpdate) return;
    const why = "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update";
    throw invalid(resource, name, [why]);
  }
  if (version !== textAt(existing, "metadata", "resourceVersion")) throw modified(resource, name);
}

function prepareUpdate(write: Write, existing: JsonObject, requested: JsonObject): JsonObject {
  const { resource, subresource } = write;
  const old = objectAt(existing, "metadata");
  if (subresource === "status") {
    const managedFields = at(requested, "metadata", "managedFields");
    return withFields(withMeta(existing, { managedFields }), { status: requested["status"] });
  }
  let next = requested;
  if (resource.statusSubresource) next = withFields(next, { status: existing["status"] });
  const isChanged = !jsonEqual(withFields(next, { metadata: {} }), withFields(existing, { metadata: {} }));
  const generation = Number(old["generation"] ?? 0) + (isChanged ? 1 : 0);
  return withMeta(next, {
    uid: at(next, "metadata", "uid") ?? old["uid"],
    creationTimestamp: old["creationTimestamp"],
    deletionTimestamp: old["deletionTimestamp"] ?? at(next, "metadata", "deletionTimestamp"),
    deletionGracePeriodSeconds:
      at(next, "metadata", "deletionGracePeriodSeconds") ?? old["deletionGracePeriodSeconds"],
    generation: resource.tracksGeneration ? generation : old["generation"],
    resourceVersion: old["resourceVersion"],
  });
}

function updateProblems(next: JsonObject, existing: JsonObject): readonly string[] {
  const problems: string[] = [];
  for (const field of ["uid", "name", "namespace", "deletionTimestamp", "deletionGracePeriodSeconds"]) {
    const [after, before] = [at(next, "metadata", field), at(existing, "metadata", field)];
    if (!jsonEqual(after, before)) {
      problems.push(`metadata.${field}: Invalid value: ${JSON.stringify(after)}: field is immutable`);
    }
  }
  if (at(existing, "metadata", "deletionTimestamp") !== undefined) {
    const had = new Set(textsAt(existing, "metadata", "finalizers"));
    const added = textsAt(next, "metadata", "finalizers").filter((finalizer) => !had.has(finalizer));
    if (added.length > 0) {
      const rule = "no new finalizers can be added if the object is being deleted, found new finalizers";
      problems.push(`metadata.finalizers: Forbidden: ${rule} ${JSON.stringify(added)}`);
    }
  }
  return problems;
}

function schemaProblems({ resource, subresource }: Write, object: JsonObject): readonly string[] {
  const { schema, reader } = resource;
  if (schema === undefined) return [];
  if (subresource !== "status") return problemsOf(schema, object, "", reader).map(describeProblem);
  const { status } = object;
  const statusSchema = objectAt(schema, "properties", "status");
  return status === undefined ? [] : problemsOf(statusSchema, status, "status", reader).map(describeProblem);
}

/** When nothing but times of ownership changed, nothing changed. */
function keepTimes(next: JsonObject, existing: JsonObject): JsonObject {
  const withoutTimes = (object: JsonObject): JsonObject => {
    const entries = objectsAt(object, "metadata", "managedFields");
    const managedFields = entries.map((entry) => withFields(entry, { time: undefined }));
    return withMeta(object, { resourceVersion: undefined, managedFields });
  };
  return jsonEqual(withoutTimes(next), withoutTimes(existing)) ? existing : next;
}

function isHeld(resource: Served, object: JsonObject): boolean {
  if (textsAt(object, "metadata", "finalizers").length > 0) return true;
  return resource.family === "namespaces" && textsAt(object, "spec", "finalizers").length > 0;
}

/** The reference of an object. */
export function refOf(resource: Served, object: JsonObject): ObjectRef {
  const name = textAt(object, "metadata", "name");
  return resource.type.namespaced ? { namespace: textAt(object, "metadata", "namespace"), name } : { name };
}

function randomSuffix(random: Random): string {
  const letter = (): string => nameAlphabet[Math.floor(random() * nameAlphabet.length)] ?? "x";
  return Array.from({ length: 5 }, letter).join("");
}
