/** The model's `KubeClient`: the verbs behind a network that takes time and fails as the fault source decides. */
import {
  ApiError,
  type ApplyOptions,
  type Clock,
  derivedReads,
  isNotFound,
  isTooManyRequests,
  type KubeClient,
  type ListOptions,
  type Random,
  type ReadOptions,
  TransportError,
  type WatchEvent,
  type WatchOptions,
  type WriteGuard,
  type WriteOptions,
} from "@klutch/kube";
import {
  describe,
  isOfOtherKind,
  type KubeObject,
  type ObjectRef,
  refOfObject,
  type ResourceType,
  stamped,
  withoutType,
} from "@klutch/kube-core";
import { discover } from "./discovery.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Fault, FaultSource, RequestInfo, Verb } from "./faults.ts";
import { asEvent, asObject, type JsonObject } from "./json.ts";
import type { ResourceTable } from "./resources.ts";
import type { Store } from "./store.ts";
import { partial, WatchConnection } from "./watch-connection.ts";
import type { WriteParameters } from "./writes.ts";

/** Options of `ApiServerModel.client`. */
export interface ModelClientOptions {
  readonly clusterName: string;
  /** Default: nothing fails and nothing takes time. */
  readonly faults?: FaultSource | undefined;
  /** Owns the fields of writes without `fieldManager`. Default `klutch`. */
  readonly user?: string | undefined;
  /** Asked before every write. Default: writes are always allowed. */
  readonly writeGuard?: WriteGuard | undefined;
  /** Returns the time that the server takes for a delete between reading the finalizers and removing the object. Default: no time. */
  readonly deleteMs?: (() => number) | undefined;
}

/** The parts of the server that a client uses. */
export interface ServerParts {
  readonly store: Store;
  readonly resources: ResourceTable;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  readonly random: Random;
  /** Watches that are open. */
  readonly connections: Set<WatchConnection>;
}

interface ClientParts extends ServerParts {
  readonly options: ModelClientOptions;
}

type Send = <T>(request: Request, effect: () => T) => Promise<T>;

interface Request {
  readonly verb: Verb;
  readonly type?: ResourceType | undefined;
  readonly ref?: ObjectRef | undefined;
  readonly what: string;
  readonly isWrite: boolean;
  readonly signal: AbortSignal | undefined;
}

const minWatchMs = 1_800_000;
const requestTimeoutMs = 10_000;
const maxThrottledTries = 5;
const defaultRetryAfterMs = 1_000;
const reasons = {
  403: "Forbidden",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
} as const;

/** A client of the model. */
export function createModelClient(server: ServerParts, options: ModelClientOptions): KubeClient {
  const parts = { ...server, options };
  const { endpoints, resources } = server;
  const send = createSend(parts);
  return {
    clusterName: options.clusterName,
    ...readVerbs(endpoints, send),
    ...writeVerbs(parts, send),
    watch: (type, watchOptions = {}) => watchWith(parts, send, type, watchOptions),
    request(raw) {
      const { method, path, signal } = raw;
      const request = {
        verb: "request",
        what: `${method} ${path}`,
        isWrite: method !== "GET",
        signal,
      } as const;
      return send(request, () => discover(resources, raw));
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

async function* watchWith<T extends KubeObject>(
  parts: ClientParts,
  send: Send,
  type: ResourceType,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const request = { verb: "watch", type, what: `watch ${type.plural}`, isWrite: false } as const;
  const connection = await send({ ...request, signal: options.signal }, () => {
    const resource = parts.endpoints.resource(type);
    const defaultTimeoutMs = minWatchMs * (1 + parts.random());
    return new WatchConnection({ ...parts, client: parts.options, resource, options, defaultTimeoutMs });
  });
  options.onOpen?.();
  try {
    for (let event = await connection.next(); event !== undefined; event = await connection.next())
      yield asEvent<T>(event);
  } finally {
    connection.close();
  }
}

function readVerbs(endpoints: Endpoints, send: Send): Pick<KubeClient, "get" | "find" | "list" | "listAll"> {
  const get = async <T extends KubeObject>(
    type: ResourceType,
    ref: ObjectRef,
    options?: ReadOptions,
  ): Promise<T> => {
    const request = { verb: "get", type, ref, what: `get ${describe(type, ref)}`, isWrite: false } as const;
    return asObject<T>(await send({ ...request, signal: options?.signal }, () => endpoints.get(type, ref)));
  };
  const list: KubeClient["list"] = async <T extends KubeObject>(
    type: ResourceType,
    options: ListOptions = {},
  ) => {
    const request = { verb: "list", type, what: `list ${type.plural}`, isWrite: false } as const;
    const page = await send({ ...request, signal: options.signal }, () => endpoints.list(type, options));
    const shape = (item: JsonObject): T => asObject<T>(options.metadataOnly === true ? partial(item) : item);
    // Nothing was sent as text.
    return { ...page, items: page.items.map(shape), length: 0 };
  };
  return { get, list, ...derivedReads({ get, list }) };
}

type WriteVerbs = "create" | "replace" | "apply" | "mergePatch" | "jsonPatch" | "delete";

function writeVerbs(
  { endpoints, clock, options: client }: ClientParts,
  send: Send,
): Pick<KubeClient, WriteVerbs> {
  const { user = "klutch", deleteMs } = client;
  const write = async <T extends KubeObject>(
    verb: Verb,
    type: ResourceType,
    ref: ObjectRef,
    options: WriteOptions | undefined,
    effect: (how: WriteParameters) => JsonObject,
  ): Promise<T> => {
    const { fieldManager = user, subresource = "", dryRun = false, signal } = options ?? {};
    const request = { verb, type, ref, what: `${verb} ${describe(type, ref)}`, isWrite: true, signal };
    const how = { manager: fieldManager, subresource, isDryRun: dryRun };
    return asObject<T>(await send(request, () => effect(how)));
  };
  return {
    create(type, object, options) {
      const { namespace, name, generateName = "" } = object.metadata;
      const ref = { namespace, name: name ?? generateName };
      return write("create", type, ref, options, (how) =>
        endpoints.create(type, stamped(type, object, options), how),
      );
    },
    replace: async (type, object, options) =>
      write("replace", type, refOfObject(object), options, (how) =>
        endpoints.replace(type, stamped(type, object, options), how),
      ),
    async apply<T extends KubeObject>(type: ResourceType, object: KubeObject, options: ApplyOptions) {
      let isNew = false;
      const onCreated = (): void => void (isNew = true);
      const answer = await write<T>("apply", type, refOfObject(object), options, (how) =>
        endpoints.apply(type, stamped(type, object, options), options.force === true, { ...how, onCreated }),
      );
      // Not of an answer that was lost.
      if (isNew) options.onCreated?.();
      return answer;
    },
    mergePatch: async (type, ref, patch, options) =>
      write("mergePatch", type, ref, options, (how) =>
        endpoints.mergePatch(type, ref, isOfOtherKind(options) ? patch : withoutType(patch), how),
      ),
    jsonPatch: async (type, ref, operations, options) =>
      write("jsonPatch", type, ref, options, (how) => endpoints.jsonPatch(type, ref, operations, how)),
    async delete(type, ref, options = {}) {
      const what = `delete ${describe(type, ref)}`;
      const { signal } = options;
      try {
        const finish = await send({ verb: "delete", type, ref, what, isWrite: true, signal }, () => {
          const removal = endpoints.delete(type, ref, options);
          if (deleteMs === undefined) removal?.();
          return removal;
        });
        if (deleteMs !== undefined && finish !== undefined) {
          await clock.sleep(deleteMs());
          finish();
        }
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
  };
}

/** Works as the real sender: a 429 is repeated, a read whose connection broke is repeated once, a write is guarded each time. */
function createSend(parts: ClientParts): Send {
  const { clock, random, options } = parts;
  return async (request, effect) => {
    for (let attempt = 1; ; attempt++) {
      const guard = request.isWrite ? options.writeGuard : undefined;
      guard?.assertMayWrite();
      const signals = [request.signal, guard?.signal].filter((signal) => signal !== undefined);
      const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
      try {
        return await exchange(parts, { ...request, signal }, effect);
      } catch (error) {
        const isThrottled = isTooManyRequests(error) && attempt < maxThrottledTries;
        const isBrokenRead =
          !request.isWrite &&
          request.verb !== "watch" &&
          attempt === 1 &&
          error instanceof TransportError &&
          error.code === "Reset";
        if (!isThrottled && !isBrokenRead) throw error;
        if (isThrottled) {
          const retryAfterMs = isTooManyRequests(error) ? error.retryAfterMs : undefined;
          await clock.sleep((retryAfterMs ?? defaultRetryAfterMs) * (1 + random() / 5), {
            signal: request.signal,
          });
        }
      }
    }
  };
}

/** One request and its answer. */
async function exchange<T>(parts: ClientParts, request: Request, effect: () => T): Promise<T> {
  const { clock, options } = parts;
  const { clusterName: cluster, faults } = options;
  const { what, signal } = request;
  if (signal?.aborted === true) throw signal.reason;
  const started = clock.monotonic();
  const info: RequestInfo = { cluster, verb: request.verb, type: request.type, ref: request.ref };
  const fault = faults?.onRequest(info);
  const timeOut = async (): Promise<never> => {
    await clock.sleep(requestTimeoutMs - (clock.monotonic() - started), { signal });
    throw new TransportError("Timeout", `${what}: no answer within ${requestTimeoutMs} ms`);
  };
  const isCutOff = (): boolean => faults?.isPartitioned?.(cluster) === true;
  if (fault?.kind === "partition" || isCutOff()) return timeOut();
  const outcome = await travel(parts, request, () => answer(what, fault, effect));
  if (isCutOff()) return timeOut();
  const wayBackMs = faults?.latencyMs() ?? 0;
  if (wayBackMs > 0) await clock.sleep(wayBackMs, { signal });
  if (fault?.kind === "lost-answer" || fault?.kind === "lost-request") {
    throw new TransportError("Reset", `${what}: the connection was reset`);
  }
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/**
 * Carries a request to the server. A request that is given up on the way may arrive all the same: the client's random numbers
 * decide, because a real network does not tell either.
 */
async function travel<T>(
  { clock, random, options }: ClientParts,
  { signal }: Request,
  arrive: () => Outcome<T>,
): Promise<Outcome<T>> {
  const wayMs = options.faults?.latencyMs() ?? 0;
  if (wayMs === 0) return arrive();
  const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
  const cancel = clock.schedule(wayMs, () => resolve(arrive()));
  const onAbort = (): void => {
    if (random() < 0.5) cancel();
    reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted", { cause: signal?.reason }));
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await promise;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

function answer<T>(what: string, fault: Fault | undefined, effect: () => T): Outcome<T> {
  if (fault?.kind === "lost-request") return { error: undefined };
  if (fault?.kind === "error") {
    const { status, retryAfterMs } = fault;
    const message = `${what}: simulated ${status}`;
    return { error: new ApiError({ status, reason: reasons[status], message, retryAfterMs }) };
  }
  try {
    return { value: effect() };
  } catch (error) {
    if (!(error instanceof ApiError)) return { error };
    const { status, reason, message, retryAfterMs, details } = error;
    return { error: new ApiError({ status, reason, message: `${what}: ${message}`, retryAfterMs, details }) };
  }
}
