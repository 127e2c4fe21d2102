/** One watch connection: the events that the server puts on it, and which of them reach the client when. */
import {
  type Clock,
  TransportError,
  type WatchEvent,
  type WatchOptions,
  WatchStalledError,
} from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import type { Delivery, FaultSource } from "./faults.ts";
import { asObject, type JsonObject, withMeta } from "./json.ts";
import type { Served } from "./resources.ts";
import { matcherOf, type Matcher } from "./selectors.ts";
import type { Change, Store } from "./store.ts";
import { inVersion } from "./writes.ts";

/** Options of a connection. */
export interface ConnectionOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly resource: Served;
  readonly client: { readonly clusterName: string; readonly faults?: FaultSource | undefined };
  /** Contains it while it is open. */
  readonly connections: Set<WatchConnection>;
  readonly options: WatchOptions;
  /** When the server ends the connection if the client did not say. */
  readonly defaultTimeoutMs: number;
}

type Content =
  | { readonly event: WatchEvent<DynamicObject> }
  | { readonly error: Error }
  | { readonly isEnd: true };

const defaultIdleTimeoutMs = 90_000;
const bookmarkIntervalMs = 60_000;

/** An open connection. Registers with the store when it is made; `close` must be called. */
export class WatchConnection {
  readonly family: string;
  readonly cluster: string;
  readonly #parts: ConnectionOptions;
  readonly #matches: Matcher;
  readonly #queue: { readonly at: number; readonly content: Content }[] = [];
  readonly #undo: (() => void)[] = [];
  #lastHeard: number;
  #lastDelivery = 0;
  /** Nothing is sent before this version: a server that was restored to an earlier one is silent until it gets there again. */
  readonly #from: number;
  #isSilent = false;
  #wake: (() => void) | undefined;

  /** Throws 410 when the history does not reach back to the version asked for. */
  constructor(parts: ConnectionOptions) {
    const { store, clock, resource, options } = parts;
    this.#parts = parts;
    this.family = resource.family;
    this.cluster = parts.client.clusterName;
    this.#matches = matcherOf(options);
    this.#lastHeard = clock.monotonic();
    this.#from = Number(options.resourceVersion ?? "");
    this.#start();
    this.#undo.push(store.subscribe(this.family, (change) => this.#onChange(change)));
    const timeoutMs =
      options.timeoutSeconds === undefined ? parts.defaultTimeoutMs : options.timeoutSeconds * 1000;
    this.#undo.push(clock.schedule(timeoutMs, () => this.end()));
    this.#scheduleBookmark();
    parts.connections.add(this);
  }

  /** Closes the connection in order, as the server does: events on their way still arrive. */
  end(): void {
    this.#put({ isEnd: true });
  }

  /** Breaks the connection now; events on their way are lost. */
  cut(): void {
    this.#queue.length = 0;
    this.#queue.push({ at: 0, content: { error: this.#broken() } });
    this.#isSilent = false;
    this.#wake?.();
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#parts.connections.delete(this);
  }

  /** Returns the next event; undefined at the end. Throws the same errors as the real client. */
  async next(): Promise<WatchEvent<DynamicObject> | undefined> {
    const { clock, client, options } = this.#parts;
    const { signal, idleTimeoutMs = defaultIdleTimeoutMs } = options;
    for (;;) {
      if (signal?.aborted === true) throw signal.reason;
      const now = clock.monotonic();
      const head = this.#queue[0];
      const isDue = head !== undefined && head.at <= now;
      if (isDue && client.faults?.isPartitioned?.(this.cluster) === true) this.#isSilent = true;
      if (isDue && !this.#isSilent) {
        this.#queue.shift();
        this.#lastHeard = Math.max(this.#lastHeard, head.at);
        if ("error" in head.content) throw head.content.error;
        return "event" in head.content ? head.content.event : undefined;
      }
      const idleAt = this.#lastHeard + idleTimeoutMs;
      if (now >= idleAt) throw new WatchStalledError(idleTimeoutMs);
      const wakeAt = head === undefined || this.#isSilent ? idleAt : Math.min(idleAt, head.at);
      await this.#wait(wakeAt - now, signal);
    }
  }

  #start(): void {
    const { store, options } = this.#parts;
    const { resourceVersion = "", sendInitialEvents = false } = options;
    const isCurrent = resourceVersion === "" || resourceVersion === "0" || sendInitialEvents;
    if (!isCurrent) {
      for (const change of store.changesAfter(this.family, Number(resourceVersion))) this.#onChange(change);
      return;
    }
    for (const object of store.list(this.family)) {
      if (this.#matches(object)) this.#send({ type: "ADDED", object: this.#shape(object) });
    }
    if (sendInitialEvents) this.#sendBookmark(true);
  }

  /** An object that begins or stops to match is added or deleted for this watcher. */
  #onChange({ object, previous, resourceVersion }: Change): void {
    if (resourceVersion <= this.#from) return;
    const isIn = object !== undefined && this.#matches(object);
    const wasIn = previous !== undefined && this.#matches(previous);
    if (isIn) this.#send({ type: wasIn ? "MODIFIED" : "ADDED", object: this.#shape(object) });
    else if (wasIn) {
      const last = withMeta(previous, { resourceVersion: String(resourceVersion) });
      this.#send({ type: "DELETED", object: this.#shape(last) });
    }
  }

  #shape(object: JsonObject): DynamicObject {
    const { resource, options } = this.#parts;
    const shown = options.metadataOnly === true ? partial(object) : inVersion(resource, object);
    return asObject<DynamicObject>(Object.freeze(shown));
  }

  #scheduleBookmark(): void {
    const cancel = this.#parts.clock.schedule(bookmarkIntervalMs, () => {
      this.#undo.splice(this.#undo.indexOf(cancel), 1);
      this.#sendBookmark(false);
      this.#scheduleBookmark();
    });
    this.#undo.push(cancel);
  }

  #sendBookmark(initialEventsEnd: boolean): void {
    if (this.#parts.store.revision < this.#from) return;
    this.#send({ type: "BOOKMARK", resourceVersion: String(this.#parts.store.revision), initialEventsEnd });
  }

  #send(event: WatchEvent<DynamicObject>): void {
    const { client, resource } = this.#parts;
    const info = { cluster: this.cluster, type: resource.type, event: event.type };
    const delivery: Delivery = client.faults?.onWatchEvent(info) ?? "deliver";
    if (delivery === "stall") this.#isSilent = true;
    if (delivery === "drop-connection") {
      this.#put({ error: this.#broken() });
      return;
    }
    this.#put({ event }, typeof delivery === "object" ? delivery.delayMs : 0);
    if (delivery === "duplicate") this.#put({ event });
  }

  /** Keeps the order: a later event is not delivered earlier. */
  #put(content: Content, delayMs = 0): void {
    const { clock, client } = this.#parts;
    const arrival = clock.monotonic() + (client.faults?.latencyMs() ?? 0) + delayMs;
    this.#lastDelivery = Math.max(this.#lastDelivery, arrival);
    this.#queue.push({ at: this.#lastDelivery, content });
    this.#wake?.();
  }

  #broken(): TransportError {
    const { plural } = this.#parts.resource.type;
    return new TransportError("Reset", `watch ${plural}: the watch connection broke`);
  }

  #wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const cancel = this.#parts.clock.schedule(delayMs, wake);
    this.#wake = wake;
    signal?.addEventListener("abort", wake, { once: true });
    return promise.finally(() => {
      cancel();
      this.#wake = undefined;
      signal?.removeEventListener("abort", wake);
    });
  }
}

/** PartialObjectMetadata of an object. */
export function partial(object: JsonObject): JsonObject {
  return Object.freeze({
    apiVersion: "meta.k8s.io/v1",
    kind: "PartialObjectMetadata",
    metadata: object["metadata"] ?? {},
  });
}
