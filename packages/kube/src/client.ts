/** The client of one cluster: verbs over the transport, with flow control, write guard and metrics. */
import type { Logger, Metrics } from "@klutch/telemetry";
import {
  collectionPath,
  describe,
  isOfOtherKind,
  type KubeObject,
  objectPath,
  refOfObject,
  type ResourceType,
  stamped,
  withoutType,
} from "@klutch/kube-core";
import { bodyLimits, type BodyLimits } from "./body-text.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { ClusterConfig } from "./config.ts";
import { decodeError, decodeList, decodeObject, parseJson } from "./decode.ts";
import { FlowControl, type FlowControlOptions } from "./flow-control.ts";
import { derivedReads } from "./derived-reads.ts";
import { isNotFound } from "./errors.ts";
import { type Random, systemRandom } from "./random.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { createSender, type Send } from "./send.ts";
import { createTransport } from "./transport.ts";
import type {
  ApplyOptions,
  KubeClient,
  ListOptions,
  Scope,
  WatchOptions,
  WriteGuard,
  WriteOptions,
} from "./types.ts";
import { decodeWatch } from "./watch.ts";

/** Options of a client. */
export interface KubeClientOptions {
  /** Default `klutch`. */
  readonly userAgent?: string | undefined;
  /** Time to wait for the beginning of an answer. Default 30 000. */
  readonly requestTimeoutMs?: number | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** Asked before every write. Default: writes are always allowed. */
  readonly writeGuard?: WriteGuard | undefined;
  /** Limits of an answer's body. */
  readonly bodyLimits?: BodyLimits | undefined;
  /** `false` sends everything at once. Default: adaptive. */
  readonly flowControl?: FlowControlOptions | false | undefined;
}

const defaultIdleTimeoutMs = 90_000;
const metadataAccept = (kind: string): string =>
  `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;

/** A client for the cluster. Dispose it to close its connections; requests in flight then fail. */
export function createKubeClient(config: ClusterConfig, options: KubeClientOptions = {}): KubeClient {
  const clock = options.clock ?? systemClock;
  const transport = createTransport(config, {
    userAgent: options.userAgent ?? "klutch",
    clock,
    requestTimeoutMs: options.requestTimeoutMs,
  });
  const flow = options.flowControl === false ? undefined : new FlowControl(options.flowControl ?? {}, clock);
  const { metrics, writeGuard } = options;
  const random = options.random ?? systemRandom;
  const counting = createRequestMetrics(metrics, config.server, flow);
  const { measure } = counting;
  const send = createSender({
    transport,
    flow,
    clock,
    random,
    measure,
    writeGuard,
    limits: options.bodyLimits,
  });
  const onLeftOut = reportLeftOut(options.logger, clock);
  return {
    clusterName: config.name,
    ...readVerbs(send, onLeftOut),
    ...writeVerbs(send),
    async *watch<T extends KubeObject>(type: ResourceType, watchOptions: WatchOptions = {}) {
      const { idleTimeoutMs = defaultIdleTimeoutMs, signal, metadataOnly } = watchOptions;
      const what = `watch ${type.plural}`;
      const started = clock.monotonic();
      const response = await transport.send({
        method: "GET",
        path: `${collectionPath(type, watchOptions.namespace)}?${watchQuery(watchOptions).toString()}`,
        signal,
        bodyTimeoutMs: idleTimeoutMs,
        accept: metadataOnly === true ? metadataAccept("PartialObjectMetadata") : undefined,
      });
      measure("GET", response.status, clock.monotonic() - started);
      if (response.status !== 200) {
        const text = await response.text(options.bodyLimits?.object ?? bodyLimits.object);
        throw decodeError(response.status, text, response.retryAfter, what);
      }
      watchOptions.onOpen?.();
      const leftOut = (excess: string): void => onLeftOut(what, excess);
      yield* decodeWatch<T>(response, { what, idleTimeoutMs, signal, onLeftOut: leftOut });
    },
    async request({ method, path, query, body, contentType, signal }) {
      const suffix = query === undefined ? "" : `?${new URLSearchParams(query).toString()}`;
      const text = await send({
        method,
        path: `${path}${suffix}`,
        body,
        contentType,
        signal,
        what: `${method} ${path}`,
      });
      return text.trimStart().startsWith("{") || text.trimStart().startsWith("[")
        ? parseJson(text, path)
        : text;
    },
    async [Symbol.asyncDispose]() {
      counting[Symbol.dispose]();
      await transport.close();
    },
  };
}

/** Reports that an object which exceeds a bound was left out of a list or a watch. */
type OnLeftOut = (what: string, excess: string) => void;

/** A hostile server could fill the log. */
const leftOutEveryMs = 60_000;

function reportLeftOut(logger: Logger | undefined, clock: Clock): OnLeftOut {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (what, excess) => {
    const now = clock.monotonic();
    if (now < quietUntil) return;
    quietUntil = now + leftOutEveryMs;
    logger?.warn("an object is left out, and further ones within a minute are not told", { what, excess });
  };
}

function readVerbs(send: Send, onLeftOut: OnLeftOut): Pick<KubeClient, "get" | "find" | "list" | "listAll"> {
  const get: KubeClient["get"] = async (type, ref, { signal } = {}) => {
    const what = `get ${describe(type, ref)}`;
    return decodeObject(
      parseJson(await send({ method: "GET", path: objectPath(type, ref), signal, what }), what),
      what,
    );
  };
  const list: KubeClient["list"] = async (type, options = {}) => {
    const what = `list ${type.plural}`;
    const text = await send({
      method: "GET",
      path: `${collectionPath(type, options.namespace)}?${listQuery(options).toString()}`,
      signal: options.signal,
      what,
      isList: true,
      // The first page is small (pages.ts).
      isLarge: options.continueToken !== undefined,
      accept: options.metadataOnly === true ? metadataAccept("PartialObjectMetadataList") : undefined,
    });
    return decodeList(text, what, type.kind, (excess) => onLeftOut(what, excess));
  };
  return { get, list, ...derivedReads({ get, list }) };
}

type WriteVerbs = "create" | "replace" | "apply" | "mergePatch" | "jsonPatch" | "delete";

function writeVerbs(send: Send): Pick<KubeClient, WriteVerbs> {
  const write = async <T extends KubeObject>(
    verb: string,
    method: "POST" | "PUT" | "PATCH",
    path: string,
    body: unknown,
    type: ResourceType,
    name: string,
    options: WriteOptions &
      Pick<Partial<ApplyOptions>, "force" | "onCreated"> & { contentType?: string } = {},
  ): Promise<T> => {
    const what = `${verb} ${type.kind} ${name}`;
    const query = writeQuery(options);
    const { contentType, onCreated, signal } = options;
    const text = await send({
      method,
      path: `${path}${query}`,
      body,
      contentType,
      signal,
      what,
      isWrite: true,
      onStatus: (status) => {
        if (status === 201) onCreated?.();
      },
    });
    return decodeObject(parseJson(text, what), what);
  };
  return {
    create(type, object, options) {
      const { namespace, name, generateName = "" } = object.metadata;
      return write(
        "create",
        "POST",
        collectionPath(type, namespace),
        stamped(type, object, options),
        type,
        name ?? generateName,
        options,
      );
    },
    replace(type, object, options) {
      const ref = refOfObject(object);
      return write(
        "replace",
        "PUT",
        objectPath(type, ref, options?.subresource),
        stamped(type, object, options),
        type,
        ref.name,
        options,
      );
    },
    apply(type, object, options) {
      const ref = refOfObject(object);
      const body = stamped(type, object, options);
      const contentType = "application/apply-patch+yaml";
      return write("apply", "PATCH", objectPath(type, ref, options.subresource), body, type, ref.name, {
        ...options,
        contentType,
      });
    },
    mergePatch(type, ref, patch, options) {
      const contentType = "application/merge-patch+json";
      const body = isOfOtherKind(options) ? patch : withoutType(patch);
      return write("patch", "PATCH", objectPath(type, ref, options?.subresource), body, type, ref.name, {
        ...options,
        contentType,
      });
    },
    jsonPatch(type, ref, operations, options) {
      const contentType = "application/json-patch+json";
      return write(
        "patch",
        "PATCH",
        objectPath(type, ref, options?.subresource),
        operations,
        type,
        ref.name,
        {
          ...options,
          contentType,
        },
      );
    },
    async delete(type, ref, options = {}) {
      const { signal, dryRun, ...rest } = options;
      const body = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        ...rest,
        ...(dryRun === true ? { dryRun: ["All"] } : {}),
      };
      const what = `delete ${describe(type, ref)}`;
      try {
        await send({ method: "DELETE", path: objectPath(type, ref), body, signal, what, isWrite: true });
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
  };
}

function scopeQuery(scope: Scope): URLSearchParams {
  const query = new URLSearchParams();
  if (scope.labelSelector !== undefined) query.set("labelSelector", scope.labelSelector);
  if (scope.fieldSelector !== undefined) query.set("fieldSelector", scope.fieldSelector);
  return query;
}

function listQuery(options: ListOptions): URLSearchParams {
  const query = scopeQuery(options);
  if (options.limit !== undefined) query.set("limit", String(options.limit));
  if (options.continueToken !== undefined) query.set("continue", options.continueToken);
  if (options.resourceVersion !== undefined) query.set("resourceVersion", options.resourceVersion);
  return query;
}

function watchQuery(options: WatchOptions): URLSearchParams {
  const query = scopeQuery(options);
  query.set("watch", "true");
  query.set("allowWatchBookmarks", "true");
  if (options.resourceVersion !== undefined) query.set("resourceVersion", options.resourceVersion);
  if (options.timeoutSeconds !== undefined) query.set("timeoutSeconds", String(options.timeoutSeconds));
  if (options.sendInitialEvents === true) {
    query.set("sendInitialEvents", "true");
    query.set("resourceVersionMatch", "NotOlderThan");
  }
  return query;
}

/** Unless told to ignore unknown fields, the server decodes the body a second time, for a warning that no one would read (KEP-2885). */
function writeQuery(options: WriteOptions & { force?: boolean | undefined }): string {
  const query = new URLSearchParams({ fieldValidation: "Ignore" });
  if (options.fieldManager !== undefined) query.set("fieldManager", options.fieldManager);
  if (options.force === true) query.set("force", "true");
  if (options.dryRun === true) query.set("dryRun", "All");
  return `?${query.toString()}`;
}
