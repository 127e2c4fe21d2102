/** The verbs as the server carries them out, at one instant and without a network. */
import type { DeleteOptions, ListOptions } from "@klutch/kube";
import { apiVersionOf, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import { beginRemoval } from "./deletes.ts";
import { isObject, type Json, type JsonObject, textAt, toWire, withFields, withMeta } from "./json.ts";
import { trackApply, trackUpdate } from "./managed-fields.ts";
import { blankMeta, cleanMeta, isBlank } from "./metadata.ts";
import { jsonPatched, mergePatched } from "./patches.ts";
import type { ResourceTable, Served } from "./resources.ts";
import { matcherOf } from "./selectors.ts";
import {
  badRequest,
  conflict,
  expired,
  invalid,
  internal,
  notFound,
  notServed,
  unprocessable,
} from "./status-errors.ts";
import { keyOfObject } from "./store.ts";
import { coerce, fillDefaults } from "./structural.ts";
import { assertTyped, TypedError } from "./typed-values.ts";
import {
  admitCreate,
  assertSameIdentity,
  finishCreate,
  finishUpdate,
  inVersion,
  keyOfRef,
  refOf,
  type ServerContext,
  type WriteParameters,
  writeOf,
} from "./writes.ts";

/** One page, in the server's own terms. */
export interface Page {
  readonly items: readonly JsonObject[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
}

/** The verbs over a store. */
export class Endpoints {
  readonly #context: ServerContext;
  readonly #resources: ResourceTable;

  constructor(context: ServerContext, resources: ResourceTable) {
    this.#context = context;
    this.#resources = resources;
  }

  /** Throws 404 if the resource or subresource is not served. */
  resource(type: ResourceType, subresource = ""): Served {
    const found = this.#resources.find(type);
    const isServed = subresource === "" || (subresource === "status" && found?.statusSubresource === true);
    if (found === undefined) throw notServed();
    if (!isServed) throw notServed(found.isCompiled ? "" : "NotFound");
    return found;
  }

  get(type: ResourceType, ref: ObjectRef): JsonObject {
    const resource = this.resource(type);
    const found = this.#context.store.get(resource.family, keyOfRef(resource, ref));
    if (found === undefined) throw notFound(resource, ref.name);
    return inVersion(resource, found);
  }

  list(type: ResourceType, options: ListOptions): Page {
    const { store } = this.#context;
    const resource = this.resource(type);
    const token = options.continueToken === undefined ? undefined : decodeToken(options.continueToken);
    const asked = options.resourceVersion ?? "";
    const isExact = token !== undefined || (options.limit !== undefined && asked !== "" && asked !== "0");
    const version = token?.version ?? (isExact ? Number(asked) : store.revision);
    if (Number(asked) > store.revision) throw expired(`Too large resource version: ${asked}`);
    if (isExact && store.isForgotten(version))
      throw expired("The provided continue parameter is too old to display a consistent list result.");
    const matches = matcherOf(options);
    const all = isExact ? store.listAt(resource.family, version) : store.list(resource.family);
    const { namespace, limit = 0 } = options;
    const inScope = matcherOf({ namespace });
    const rest = all.filter((object) => inScope(object) && keyOfObject(object) > (token?.after ?? ""));
    const found = rest.filter(matches);
    const items = limit === 0 ? found : found.slice(0, limit);
    const last = items.at(-1);
    // There is another page even if nothing on it would match.
    const hasMore = last !== undefined && items.length === limit && last !== rest.at(-1);
    return {
      items: items.map((object) => inVersion(resource, object)),
      resourceVersion: String(version),
      continueToken: hasMore ? encodeToken({ version, after: keyOfObject(last) }) : undefined,
    };
  }

  create(type: ResourceType, body: object, how: WriteParameters): JsonObject {
    const resource = this.resource(type);
    const next = decode(resource, asRequest(resource, toWire(body)), "body");
    const fresh = withMeta(next, {
      uid: undefined,
      creationTimestamp: undefined,
      deletionTimestamp: undefined,
      deletionGracePeriodSeconds: undefined,
    });
    if (resource.type.namespaced && textAt(fresh, "metadata", "namespace") === "") {
      throw badRequest("an empty namespace may not be set during creation");
    }
    const write = writeOf(this.#context, resource, { ...how, isPost: true });
    const owned = trackUpdate(emptyObject(resource), fresh, write);
    admitCreate(write, owned);
    return finishCreate(write, owned);
  }

  replace(type: ResourceType, body: object, how: WriteParameters): JsonObject {
    const resource = this.resource(type, how.subresource);
    const next = decode(resource, asRequest(resource, toWire(body)), "body");
    const existing = this.get(type, refOf(resource, next));
    const [wanted, uid] = [textAt(next, "metadata", "uid"), textAt(existing, "metadata", "uid")];
    if (wanted !== "" && wanted !== uid) {
      throw conflict(`Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${uid}`);
    }
    const write = writeOf(this.#context, resource, how);
    return finishUpdate(write, existing, trackUpdate(existing, next, write));
  }

  mergePatch(type: ResourceType, ref: ObjectRef, patch: object, how: WriteParameters): JsonObject {
    const document = toWire(patch);
    return this.#patch(type, ref, (existing) => mergePatched(existing, document), how);
  }

  jsonPatch(
    type: ResourceType,
    ref: ObjectRef,
    operations: readonly object[],
    how: WriteParameters,
  ): JsonObject {
    const list = operations.map(toWire);
    return this.#patch(type, ref, (existing) => jsonPatched(existing, list), how);
  }

  apply(type: ResourceType, body: object, force: boolean, how: WriteParameters): JsonObject {
    const resource = this.resource(type, how.subresource);
    const config = toWire({ ...body, apiVersion: apiVersionOf(resource.type), kind: type.kind });
    if (!isObject(config)) throw badRequest("an apply needs an object");
    if (isObject(config["metadata"]) && config["metadata"]["managedFields"] !== undefined) {
      throw badRequest("metadata.managedFields must be nil");
    }
    const ref = refOf(resource, config);
    const found = this.#context.store.get(resource.family, keyOfRef(resource, ref));
    if (found === undefined && how.subresource !== "") throw notFound(resource, ref.name);
    const existing = found === undefined ? undefined : inVersion(resource, found);
    const bare = writeOf(this.#context, resource, how);
    const applied = typed(() => trackApply(existing ?? emptyObject(resource), config, force, bare));
    const next = decode(resource, applied, "apply");
    const write = { ...bare, blanks: resource.isCompiled ? {} : blankMeta(applied) };
    assertSameIdentity(write, ref, next, existing !== undefined);
    if (existing !== undefined) return finishUpdate(write, existing, next);
    admitCreate(write, next);
    const created = finishCreate(write, next);
    how.onCreated?.();
    return created;
  }

  /** Returns a function that removes the object; undefined when something holds it. */
  delete(type: ResourceType, ref: ObjectRef, options: DeleteOptions): (() => void) | undefined {
    return beginRemoval(this.#context, this.resource(type), ref, options);
  }

  #patch(
    type: ResourceType,
    ref: ObjectRef,
    change: (existing: JsonObject) => Json,
    how: WriteParameters,
  ): JsonObject {
    const resource = this.resource(type, how.subresource);
    const existing = this.get(type, ref);
    const changed = change(existing);
    if (!isObject(changed)) throw badRequest("the patch does not leave an object");
    const next = decode(resource, changed, "patch");
    const write = writeOf(this.#context, resource, how);
    const owned = trackUpdate(existing, next, write);
    assertSameIdentity(write, ref, owned, true);
    return finishUpdate(write, existing, owned);
  }
}

function emptyObject(resource: Served): JsonObject {
  return { apiVersion: apiVersionOf(resource.type), kind: resource.type.kind, metadata: {} };
}

function asRequest(resource: Served, body: Json): JsonObject {
  if (!isObject(body)) throw badRequest("the body is not an object");
  const [apiVersion, kind] = [apiVersionOf(resource.type), resource.type.kind];
  const given = { apiVersion: body["apiVersion"] ?? apiVersion, kind: body["kind"] ?? kind };
  if (given.apiVersion !== apiVersion || (resource.isCompiled && given.kind !== kind)) {
    throw badRequest(`the API version in the data does not match the expected API version (${apiVersion})`);
  }
  if (given.kind !== kind) {
    throw invalid(resource, textAt(body, "metadata", "name"), [`kind: Invalid value: must be ${kind}`]);
  }
  return { ...body, ...given };
}

/** Decodes an object as the server does when it reads one. */
function decode(resource: Served, object: JsonObject, from: "body" | "patch" | "apply"): JsonObject {
  const clean = cleanMeta(object);
  const { schema } = resource;
  const reads = from === "apply" && !resource.isCompiled ? fillDefaults : coerce;
  const coerced = resource.decode(schema === undefined ? clean : reads(clean, schema));
  if (!resource.isCompiled) return coerced;
  try {
    assertTyped(resource.atom, coerced, true);
  } catch (error) {
    if (!(error instanceof TypedError)) throw error;
    throw from === "body" ? badRequest(error.message) : unprocessable(error.message);
  }
  const blank = Object.entries(coerced).filter(([name, value]) => name !== "metadata" && isBlank(value));
  return withFields(coerced, Object.fromEntries(blank.map(([name]) => [name, undefined])));
}

function typed<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof TypedError) throw internal(`failed to create typed patch object: ${error.message}`);
    throw error;
  }
}

interface Token {
  readonly version: number;
  readonly after: string;
}

function encodeToken({ version, after }: Token): string {
  return Buffer.from(`${version} ${after}`).toString("base64url");
}

function decodeToken(text: string): Token {
  const [, version, after = ""] = /^(\d+) (.+)$/.exec(Buffer.from(text, "base64url").toString()) ?? [];
  if (version === undefined) throw badRequest("continue key is not valid");
  return { version: Number(version), after };
}
