/**
 * One open watch: initial objects, then events as they come, bookmarks, and an end. It holds a place in the history and no queue, and stops
 * when its reader does.
 */
import type { Clock } from "@klutch/kube";
import type { Right } from "./authority.ts";
import type { Cursor } from "./history.ts";
import type { KindNames } from "./kind-cache.ts";
import { pieceBytes, send, type Sink } from "./reader.ts";
import { errorLine, expired, type Failure, unauthorized } from "./status.ts";

/** Options of `streamWatch`. */
export interface WatchStreamOptions {
  readonly names: Pick<KindNames, "apiVersion" | "kind">;
  readonly cursor: Cursor;
  /** Chunks of objects that the watch begins with. */
  readonly initial?: AsyncIterable<readonly Buffer[]> | Iterable<readonly Buffer[]> | undefined;
  /** The initial objects are of this version; or the watch goes on from it. */
  readonly from: number;
  readonly marksInitialEvents: boolean;
  readonly bookmarks: boolean;
  readonly lastsMs: number;
  /** Version that the cache has reached. */
  readonly reached: () => number;
  /** Asks whether the tenant may still watch. */
  readonly mayGoOn: () => Promise<Right>;
  readonly askEveryMs: number;
  /** Moment within that interval: the questions of one tenant come together, so that one answer does for all of them. */
  readonly askAtMs: number;
  readonly clock: Clock;
  readonly sink: Sink;
}

/** Reasons why a watch ended. */
export type WatchEnd = "over" | "gone" | "expired" | "denied" | "slow";

const bookmarkEveryMs = 60_000;
/** An API server says where to go on a moment before it ends a watch. */
const lastBookmarkMs = 2_000;
/** Questions in a row without an answer: after them no one can say that the watch is still allowed. */
const mostUnknown = 3;

/** Runs until the watch ends; never throws because of its reader. Disposes the cursor. */
export async function streamWatch(options: WatchStreamOptions): Promise<WatchEnd> {
  using stream = new WatchStream(options);
  return await stream.run();
}

class WatchStream implements Disposable {
  readonly #options: WatchStreamOptions;
  readonly #startedMs: number;
  #sentVersion: number;
  #nextBookmarkMs: number;
  #nextQuestionMs: number;
  #unknowns = 0;
  #end: { readonly how: WatchEnd; readonly failure?: Failure } | undefined;
  #wake: (() => void) | undefined;
  #isAwake = false;

  constructor(options: WatchStreamOptions) {
    const { clock, cursor, from } = options;
    this.#options = options;
    this.#startedMs = clock.monotonic();
    this.#sentVersion = from;
    this.#nextBookmarkMs = this.#startedMs + Math.min(bookmarkEveryMs, this.#beforeEnd());
    this.#nextQuestionMs = this.#questionAfter(this.#startedMs);
    cursor.onNews = () => this.#rouse();
  }

  [Symbol.dispose](): void {
    this.#options.cursor[Symbol.dispose]();
  }

  async run(): Promise<WatchEnd> {
    const { sink } = this.#options;
    const onAbort = (): void => this.#rouse();
    sink.signal.addEventListener("abort", onAbort);
    try {
      await this.#sendInitial();
      while (this.#end === undefined) {
        await this.#sendEvents();
        this.#keepTime();
        if (this.#end === undefined) await this.#pause();
      }
      if (this.#end.failure !== undefined && !sink.signal.aborted) sink.write(errorLine(this.#end.failure));
      return this.#end.how;
    } finally {
      sink.signal.removeEventListener("abort", onAbort);
    }
  }

  async #sendInitial(): Promise<void> {
    const { initial, marksInitialEvents, sink } = this.#options;
    if (initial === undefined) return;
    for await (const objects of initial) {
      for (const object of objects) {
        await this.#write([added, object, lineEnd]);
        if (sink.signal.aborted || this.#end !== undefined) return;
      }
    }
    if (marksInitialEvents) await this.#write([this.#bookmark(this.#options.from, true)]);
  }

  /** Sends all events that have come. */
  async #sendEvents(): Promise<void> {
    const { cursor, sink } = this.#options;
    let lines: Buffer[] = [];
    let length = 0;
    // The version is read before: all events up to it are taken below.
    const reached = this.#options.reached();
    while (this.#end === undefined && !sink.signal.aborted) {
      const line = cursor.next();
      if (line === "expired") {
        this.#end = { how: "expired", failure: expired(this.#sentVersion) };
        break;
      }
      if (line !== undefined) {
        lines.push(line);
        length += line.length;
      }
      if (length > 0 && (line === undefined || length >= pieceBytes)) {
        await this.#write(lines);
        [lines, length] = [[], 0];
      } else if (line === undefined) break;
    }
    // What could be taken before the history ended is still sent.
    if (length > 0) await this.#write(lines);
    if (this.#end === undefined) this.#sentVersion = Math.max(this.#sentVersion, reached);
  }

  #keepTime(): void {
    const { clock, sink, lastsMs, bookmarks } = this.#options;
    const nowMs = clock.monotonic();
    if (sink.signal.aborted) this.#end = { how: "gone" };
    else if (nowMs - this.#startedMs >= lastsMs) this.#end = { how: "over" };
    if (this.#end !== undefined) return;
    if (nowMs >= this.#nextBookmarkMs) {
      if (bookmarks) sink.write(this.#bookmark(this.#sentVersion, false));
      const beforeEndMs = this.#startedMs + this.#beforeEnd();
      const isLast = nowMs >= beforeEndMs;
      this.#nextBookmarkMs = isLast
        ? Number.POSITIVE_INFINITY
        : Math.min(nowMs + bookmarkEveryMs, beforeEndMs);
    }
    if (nowMs >= this.#nextQuestionMs) {
      this.#nextQuestionMs = this.#questionAfter(nowMs);
      void this.#ask();
    }
  }

  #questionAfter(nowMs: number): number {
    const { askEveryMs, askAtMs } = this.#options;
    return (Math.floor((nowMs - askAtMs) / askEveryMs) + 1) * askEveryMs + askAtMs;
  }

  /** Asks while events go on: an answer that is slow in coming holds up none. */
  async #ask(): Promise<void> {
    const right = await this.#options.mayGoOn();
    this.#unknowns = right === "unknown" ? this.#unknowns + 1 : 0;
    if (right === "unauthorized") this.#end ??= { how: "denied", failure: unauthorized };
    if (right === "denied") this.#end ??= { how: "denied", failure: withdrawn };
    if (this.#unknowns >= mostUnknown) this.#end ??= { how: "denied" };
    if (this.#end !== undefined) this.#rouse();
  }

  async #write(pieces: readonly Uint8Array[]): Promise<void> {
    const { sink, clock } = this.#options;
    if (!(await send(sink, clock, pieces))) this.#end = { how: "slow" };
  }

  #bookmark(resourceVersion: number, isEndOfInitial: boolean): Buffer {
    const { kind, apiVersion } = this.#options.names;
    const annotations = isEndOfInitial ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
    const metadata = { ...annotations, resourceVersion: String(resourceVersion) };
    return Buffer.from(`${JSON.stringify({ type: "BOOKMARK", object: { apiVersion, kind, metadata } })}\n`);
  }

  /** Milliseconds from the start to the last bookmark. */
  #beforeEnd(): number {
    const { lastsMs } = this.#options;
    return Math.max(lastsMs - lastBookmarkMs, lastsMs / 2);
  }

  #rouse(): void {
    this.#isAwake = true;
    this.#wake?.();
  }

  /** Waits for news or for the next thing to do. */
  async #pause(): Promise<void> {
    const { clock, lastsMs } = this.#options;
    if (!this.#isAwake) {
      const nextMs = Math.min(this.#nextBookmarkMs, this.#nextQuestionMs, this.#startedMs + lastsMs);
      await new Promise<void>((resolve) => {
        const cancel = clock.schedule(Math.max(0, nextMs - clock.monotonic()), resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#isAwake = false;
  }
}

const withdrawn: Failure = {
  code: 403,
  reason: "Forbidden",
  message: "the right to watch this resource has been withdrawn",
};
const added = Buffer.from('{"type":"ADDED","object":');
const lineEnd = Buffer.from("}\n");
