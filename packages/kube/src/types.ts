/** Types of the requests to an API server and their options. Nothing here performs I/O. */
import type { KubeObject, ObjectRef, ResourceType } from "@klutch/kube-core";

/** Options of a request that only reads. */
export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Options of a request that changes something. */
export interface WriteOptions extends ReadOptions {
  readonly fieldManager?: string | undefined;
  /** Ask the server to validate and answer without storing (`dryRun=All`). Default false. */
  readonly dryRun?: boolean | undefined;
  /** "status", "scale", …; the main resource when absent. */
  readonly subresource?: string | undefined;
}

/** Options of a server-side apply (KEP-555). */
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields that another manager owns with another value. Default false: the server answers 409. */
  readonly force?: boolean | undefined;
  /** Called before the promise resolves when the server answered that this apply created the object (201). */
  readonly onCreated?: (() => void) | undefined;
}

/** Options of a delete. */
export interface DeleteOptions extends ReadOptions {
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  /** The delete is refused with 409 when the live object differs. */
  readonly preconditions?: {
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
  readonly dryRun?: boolean | undefined;
}

/** The objects that a list or a watch covers. */
export interface Scope {
  /** Only this namespace; all namespaces when absent. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** Options of one page of a list. */
export interface ListOptions extends Scope, ReadOptions {
  /** Objects a page; the server's whole answer when absent. */
  readonly limit?: number | undefined;
  readonly continueToken?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Ask for PartialObjectMetadata instead of whole objects. Default false. */
  readonly metadataOnly?: boolean | undefined;
}

/** One page of a list. Items carry `apiVersion` and `kind`, which the server leaves out inside lists. */
export interface ListPage<T extends KubeObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Present while more pages follow. */
  readonly continueToken?: string | undefined;
  /** Characters of the answer. */
  readonly length: number;
}

/** Options of one watch connection. */
export interface WatchOptions extends Scope, ReadOptions {
  readonly resourceVersion?: string | undefined;
  /** Streaming list (KEP-3157): start with the current objects as ADDED, closed by a bookmark. Default false. */
  readonly sendInitialEvents?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** The stream fails with `WatchStalledError` when nothing, not even a bookmark, arrives for so long. Default 90 000. */
  readonly idleTimeoutMs?: number | undefined;
  readonly metadataOnly?: boolean | undefined;
  /** Called when the server has accepted the watch; the first event may be long in coming. */
  readonly onOpen?: (() => void) | undefined;
}

/** One event of a watch. A server-sent ERROR event is thrown as `ApiError` instead. */
export type WatchEvent<T extends KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | {
      readonly type: "BOOKMARK";
      readonly resourceVersion: string;
      /** True for the bookmark that closes the initial events of a streaming list. */
      readonly initialEventsEnd: boolean;
    };

/**
 * Asked immediately before every mutating request is put on the wire. The lease elector implements it, so that a process
 * without the lease cannot write.
 */
export interface WriteGuard {
  /** Throws `FencedError` when writing is not allowed now. */
  assertMayWrite(): void;
  /** Aborts when the right to write is lost; in-flight writes are cut with it. Read again for every request. */
  readonly signal: AbortSignal;
}

/**
 * One cluster's API server. All methods throw `ApiError` for an answer that is not 2xx and `TransportError` when no answer
 * came. Requests to one cluster share one connection pool and one adaptive flow control; watches do not count against it.
 */
export interface KubeClient extends AsyncDisposable {
  /** For messages and metrics: "consumer", "provider", a context name. */
  readonly clusterName: string;
  get<T extends KubeObject>(type: ResourceType, ref: ObjectRef, options?: ReadOptions): Promise<T>;
  /** As `get`, but `undefined` for 404. */
  find<T extends KubeObject>(
    type: ResourceType,
    ref: ObjectRef,
    options?: ReadOptions,
  ): Promise<T | undefined>;
  list<T extends KubeObject>(type: ResourceType, options?: ListOptions): Promise<ListPage<T>>;
  /** All objects, page by page, yielding to the event loop between pages. */
  listAll<T extends KubeObject>(type: ResourceType, options?: ListOptions): AsyncIterable<T>;
  watch<T extends KubeObject>(type: ResourceType, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Writes an object of `type`, whatever `apiVersion` and `kind` it names; the same holds for all writes. */
  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T>;
  /** PUT of a whole object; `metadata.resourceVersion` guards against lost updates. */
  replace<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T>;
  /** Server-side apply; `object.metadata` needs the name (and namespace). */
  apply<T extends KubeObject>(type: ResourceType, object: KubeObject, options: ApplyOptions): Promise<T>;
  /** JSON merge patch (RFC 7386). */
  mergePatch<T extends KubeObject>(
    type: ResourceType,
    ref: ObjectRef,
    patch: object,
    options?: WriteOptions,
  ): Promise<T>;
  /** JSON patch (RFC 6902). */
  jsonPatch<T extends KubeObject>(
    type: ResourceType,
    ref: ObjectRef,
    operations: readonly object[],
    options?: WriteOptions,
  ): Promise<T>;
  /** Returns false when the object was not there (404). */
  delete(type: ResourceType, ref: ObjectRef, options?: DeleteOptions): Promise<boolean>;
  /** Any other path, JSON in and out (TokenRequest, discovery, /version, SelfSubjectAccessReview). */
  request(options: RawRequest): Promise<unknown>;
}

/** A request that has no method of its own. */
export interface RawRequest extends ReadOptions {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
}
