/**
 * Keeps a sink equal to what the server has, for ever. The states and what leads from one to the next:
 *
 * | state    | outcome                               | next state                | wait     |
 * |----------|---------------------------------------|---------------------------|----------|
 * | listing  | complete                              | watching at its version   | none     |
 * | listing  | failed                                | listing                   | back-off |
 * | watching | the server closed the stream          | watching at last version  | short    |
 * | watching | ... long before its time              | listing, reading again    | short    |
 * | watching | version too old (410), or too large   | listing                   | back-off |
 * | watching | the server's version went back        | listing                   | back-off |
 * | watching | stalled, nothing came in it           | listing                   | back-off |
 * | watching | failed or stalled                     | watching at last version  | back-off |
 *
 * A server that was restored from a backup has versions below those that were seen. It sends nothing for a watch from a later one, not
 * even a bookmark, until it gets there again.
 *
 * It also sends nothing about a kind without a write since it started: its bookmarks begin with the first event, or with what
 * etcd tells it of its progress, by default every ten minutes. So a watch in which nothing came at all is not a failure; the list that
 * follows decides. It is one when it fails, and when it shows what the watch has kept back. A watch that falls silent after something
 * came has lost its bookmarks, and is a failure.
 *
 * A list goes to the sink page by page, so that it is never in memory as a whole; what it lacks is removed when it is complete. It is
 * not asked for as a stream (KEP-3157): events of custom resources cost the server twice the time of pages, and the client half as much
 * again (proof/bench/RESULTS.md).
 *
 * A server whose CustomResourceDefinition gets another schema goes on with the watches of before for about a second and then closes them.
 * What such a watch has shown meanwhile was read through the older schema: fields that it does not know are missing, in a version that
 * will not come again. So a watch that is closed before its time may be followed by a list whose objects count at the same version.
 */
import {
  ApiError,
  type Clock,
  isGone,
  type KubeClient,
  listPages,
  type Random,
  type Scope,
  TransportError,
  WatchStalledError,
} from "@klutch/kube";
import { keyOf, type KubeObject, type ResourceType } from "@klutch/kube-core";
import { Backoff } from "../backoff.ts";

/** Receives the objects. Calls come one at a time and in the server's order. */
export interface WatchSink<T> {
  /** `isReread`: it may differ from what was applied before at the same version. Gives back false for an object that is not kept. */
  apply(object: T, isReread: boolean): boolean;
  delete(object: T): void;
  /** A list is complete: of what the sink holds only these keys are left on the server. `isWhole`: each of its objects was kept. */
  replace(keys: ReadonlySet<string>, resourceVersion: string, isWhole: boolean): void;
  /** Something arrived, a bookmark included: the connection lives. */
  progress(resourceVersion: string): void;
  /** The server accepted the watch. */
  opened?(): void;
  failed(error: unknown): void;
}

/** State of the watcher. */
export type WatcherState =
  | {
      readonly kind: "listing";
      readonly isReread?: boolean | undefined;
      /** Nothing came in the watch before. */
      readonly silence?: Silence | undefined;
    }
  | { readonly kind: "watching"; readonly resourceVersion: string };

/** A watch in which nothing came. */
export interface Silence {
  /** It was watched from this version. */
  readonly resourceVersion: string;
  readonly error: WatchStalledError;
}

/** The end of a connection. `resourceVersion` is the last one seen, if the list was complete by then. */
export interface WatcherOutcome {
  readonly resourceVersion?: string | undefined;
  /** Absent when the server closed the stream in order. */
  readonly error?: unknown;
  /** The server closed it long before its time, and its objects may have a new schema. */
  readonly isEarly?: boolean | undefined;
}

/** Next action. */
export interface WatcherStep {
  readonly state: WatcherState;
  readonly wait: "none" | "short" | "backoff";
}

/** The table above. */
export function nextStep(
  state: WatcherState,
  { error, resourceVersion, isEarly }: WatcherOutcome,
): WatcherStep {
  if (resourceVersion === undefined && state.kind === "listing") return { state, wait: "backoff" };
  if (
    state.kind === "watching" &&
    error instanceof WatchStalledError &&
    resourceVersion === state.resourceVersion
  )
    return { state: { kind: "listing", silence: { resourceVersion, error } }, wait: "backoff" };
  if (resourceVersion === undefined || isGone(error) || isAhead(state, { error, resourceVersion }))
    return { state: { kind: "listing" }, wait: "backoff" };
  if (isEarly === true) return { state: { kind: "listing", isReread: true }, wait: "short" };
  const wait = error !== undefined ? "backoff" : state.kind === "listing" ? "none" : "short";
  return { state: { kind: "watching", resourceVersion }, wait };
}

/** Returns true if the server seems not to have reached the version that was watched from. */
function isAhead(state: WatcherState, { error, resourceVersion = "" }: WatcherOutcome): boolean {
  if (state.kind !== "watching") return false;
  if (error instanceof ApiError && error.message.includes("Too large resource version")) return true;
  return isLess(resourceVersion, state.resourceVersion);
}

/** Compares decimal numbers, which versions are since Kubernetes 1.35 (KEP-5504); false for others. */
function isLess(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

/** Options of `runWatcher`. */
export interface WatcherOptions<T extends KubeObject> extends Scope {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly sink: WatchSink<T>;
  readonly metadataOnly?: boolean | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** After a watch that the server closed early all objects are read again. For kinds whose schema may change. Default false. */
  readonly rereads?: boolean | undefined;
  /** Default 90 000: bookmarks come every 60 s. */
  readonly idleTimeoutMs?: number | undefined;
  /** Waits before the next attempt. Default: the whole time, or until the signal aborts. */
  readonly pause?: ((waitMs: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** The server ends a watch after a random time between these, so that reconnects of many agents do not meet. */
const shortestWatchSeconds = 300;
const longestWatchSeconds = 600;
/** Nearer to the end than this, a closed watch has had its time. */
const earlyByMs = 30_000;
/** A watch that did not even last so long was not closed because of a new schema. */
const briefMs = 1_000;
const healthyAfterMs = 60_000;
/** Etcd forgets the version of a list before. */
const longestListMs = 600_000;
const shortWaitMs = 50;

/** Runs until the signal aborts; never throws otherwise. */
export async function runWatcher<T extends KubeObject>(options: WatcherOptions<T>): Promise<void> {
  const { clock, signal, sink } = options;
  const sleep = async (waitMs: number): Promise<void> =>
    clock.sleep(waitMs, { signal }).catch(() => undefined);
  const pause = options.pause ?? sleep;
  const backoff = new Backoff({ baseMs: 800, capMs: 30_000, random: options.random });
  let state: WatcherState = { kind: "listing" };
  while (!signal.aborted) {
    const started = clock.monotonic();
    const outcome = await connect(state, options);
    if (signal.aborted) return;
    const lastedMs = clock.monotonic() - started;
    if (lastedMs > healthyAfterMs) backoff.reset();
    const step = nextStep(state, outcome);
    const isSilence =
      state.kind === "watching" && step.state.kind === "listing" && step.state.silence !== undefined;
    if (outcome.error !== undefined && !isSilence) sink.failed(outcome.error);
    state = step.state;
    // A server that closes each watch at once is not listed without a pause.
    const isHurried = outcome.isEarly === true && lastedMs < briefMs;
    const waitMs =
      step.wait === "none"
        ? 0
        : step.wait === "short" && !isHurried
          ? shortWaitMs
          : waitAfter(outcome.error, backoff);
    if (waitMs > 0) await pause(waitMs, signal);
  }
}

function waitAfter(error: unknown, backoff: Backoff): number {
  const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(asked, backoff.next());
}

async function connect<T extends KubeObject>(
  state: WatcherState,
  options: WatcherOptions<T>,
): Promise<WatcherOutcome> {
  let resourceVersion = state.kind === "watching" ? state.resourceVersion : undefined;
  try {
    if (state.kind === "listing") return { resourceVersion: await list(options, state) };
    const { clock, random } = options;
    const timeoutSeconds = Math.round(
      shortestWatchSeconds + random() * (longestWatchSeconds - shortestWatchSeconds),
    );
    const earlyUntil = clock.monotonic() + timeoutSeconds * 1000 - earlyByMs;
    for await (const version of watch(state.resourceVersion, timeoutSeconds, options))
      resourceVersion = version;
    return { resourceVersion, isEarly: options.rereads === true && clock.monotonic() < earlyUntil };
  } catch (error) {
    return { resourceVersion, error };
  }
}

/** One complete list; resolves to its version. */
async function list<T extends KubeObject>(
  options: WatcherOptions<T>,
  { isReread = false, silence }: WatcherState & { readonly kind: "listing" },
): Promise<string> {
  const { client, type, sink, signal, clock } = options;
  const givenUpAt = clock.monotonic() + longestListMs;
  // Only keys of kept objects: a hostile list would fill the memory with its names.
  const keys = new Set<string>();
  let isWhole = true;
  let resourceVersion = "";
  let isKeptBack = false;
  for await (const page of listPages<T>(client, type, { ...scopeOf(options), signal })) {
    for (const item of page.items) {
      isKeptBack ||= isLess(silence?.resourceVersion ?? "", item.metadata.resourceVersion ?? "");
      if (sink.apply(item, isReread)) keys.add(keyOf(item));
      else isWhole = false;
    }
    ({ resourceVersion } = page);
    if (page.continueToken !== undefined && clock.monotonic() > givenUpAt) throw tooSlow(type);
  }
  const wentBack = silence !== undefined && isLess(resourceVersion, silence.resourceVersion);
  if (silence !== undefined && (isKeptBack || wentBack)) sink.failed(silence.error);
  sink.replace(keys, resourceVersion, isWhole);
  return resourceVersion;
}

function tooSlow({ plural }: ResourceType): TransportError {
  const message = `list ${plural}: it did not end within ${longestListMs / 60_000} minutes, so it was given up`;
  return new TransportError("Endless", message);
}

/** One watch connection; yields the version that is safe to resume from after each event. */
async function* watch<T extends KubeObject>(
  resourceVersion: string,
  timeoutSeconds: number,
  options: WatcherOptions<T>,
): AsyncGenerator<string> {
  const { client, type, sink, signal, idleTimeoutMs } = options;
  const events = client.watch<T>(type, {
    ...scopeOf(options),
    resourceVersion,
    timeoutSeconds,
    idleTimeoutMs,
    signal,
    onOpen: () => sink.opened?.(),
  });
  for await (const event of events) {
    if (event.type === "DELETED") sink.delete(event.object);
    else if (event.type !== "BOOKMARK") sink.apply(event.object, false);
    const version =
      event.type === "BOOKMARK" ? event.resourceVersion : (event.object.metadata.resourceVersion ?? "");
    sink.progress(version);
    yield version;
  }
}

function scopeOf(
  options: Scope & { readonly metadataOnly?: boolean | undefined },
): Scope & { metadataOnly?: boolean | undefined } {
  const { namespace, labelSelector, fieldSelector, metadataOnly } = options;
  return { namespace, labelSelector, fieldSelector, metadataOnly };
}
