/**
 * Holds what the server said, for all pages: the viewer, the rows of each collection that was looked at, and the state of the connection.
 *
 * | state of the connection | meaning                                                       | next                                   |
 * |-------------------------|---------------------------------------------------------------|----------------------------------------|
 * | `starting`              | nothing was heard yet                                         | `live`, `lost`, `over`                 |
 * | `live`                  | the event stream said who looks; rows loaded since then miss no change | `lost` at its error, `over` at `end` |
 * | `lost`                  | no stream; rows are as of `asOf`, and are asked for at each new try | `live` with all rows loaded again |
 * | `over`                  | the session ended, or there was none                          | stays, until the person logs in        |
 */
import type { Change, Collection, ConsoleError, Viewer } from "@klutch/overview/console-wire";
import { now } from "../clock.ts";
import { spread } from "../random.ts";
import { decodeChange, decodeError, decodeViewer, type Row } from "./decode.ts";
import { api, fetchRows, fetchViewer, postLogout, RequestError, wordsOf } from "./requests.ts";

/** Rows of a collection, as far as they are known. `rows` keeps its identity until a row changes. */
export interface Table {
  readonly state: "loading" | "ready" | "failed";
  readonly rows: readonly Row[];
  readonly words: ConsoleError | undefined;
}

export interface Connection {
  readonly state: "starting" | "live" | "lost" | "over";
  /** Time of the last sign of life. */
  readonly asOf: number;
  /** Says why the session is over, or why nothing could be shown at all. */
  readonly words: ConsoleError | undefined;
}

interface Kept {
  table: Table;
  readonly byId: Map<string, Row>;
  /** Changes that came while the rows were on their way; undefined when none are. */
  early: Change[] | undefined;
  /** True if rows are wanted that are newer than those on their way. */
  again: boolean;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 30_000;
const loading: Table = { state: "loading", rows: [], words: undefined };
const endOfSession: ConsoleError = { error: "Your session is over.", advice: "Log in again to go on." };

export class ConsoleStore {
  #viewer: Viewer | undefined;
  #connection: Connection = { state: "starting", asOf: now(), words: undefined };
  readonly #kept = new Map<Collection, Kept>();
  readonly #listeners = new Set<() => void>();
  #stream: EventSource | undefined;
  #pauseMs = shortestPauseMs;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly viewer = (): Viewer | undefined => this.#viewer;
  readonly connection = (): Connection => this.#connection;
  readonly table = (collection: Collection): Table => this.#kept.get(collection)?.table ?? loading;

  /**
   * Opens the stream, whose first event is the viewer. Called again after each pause, for as long as the page lives. Without a stream, as
   * behind a proxy that lets none through, the pages still show what single requests bring.
   */
  start(): void {
    const stream = new EventSource(`${api}/changes`);
    this.#stream = stream;
    const on = (name: string, take: (data: unknown) => void): void =>
      stream.addEventListener(name, (event: MessageEvent<unknown>) => {
        if (this.#stream !== stream) return;
        try {
          take(parseOrNothing(String(event.data)));
        } catch (error) {
          // An event that cannot be understood would leave wrong rows on the page: they are loaded again.
          stream.close();
          this.#lose(wordsOf(error));
        }
      });
    on("viewer", (data) => this.#welcome(decodeViewer(data)));
    on("change", (data) => {
      this.#connection = { ...this.#connection, asOf: now() };
      const change = decodeChange(data);
      if (change !== undefined) this.#take(change);
    });
    on("end", (data) => this.#end(decodeError(data, endOfSession)));
    stream.addEventListener("error", () => {
      if (this.#stream !== stream) return;
      stream.close();
      void this.#withoutStream();
    });
  }

  /** Loads a collection that is not loaded yet, or again after it failed. */
  want(collection: Collection): void {
    const kept = this.#kept.get(collection);
    if (kept === undefined || (kept.table.state === "failed" && kept.early === undefined))
      void this.#load(collection);
  }

  /** Tries at once instead of after the pause. */
  retry(collection: Collection): void {
    this.#kept.delete(collection);
    this.want(collection);
    this.#tell();
  }

  /** Logs the person out. Rejects with words if the server did not end the session. */
  async logOut(): Promise<void> {
    await postLogout();
    this.#end({ error: "You are logged out.", advice: "" });
  }

  /** Loads all rows again, because changes may have been missed; the old ones stay on the page meanwhile. */
  #welcome(viewer: Viewer): void {
    this.#pauseMs = shortestPauseMs;
    this.#meet(viewer);
    this.#say({ state: "live", asOf: now(), words: undefined });
  }

  #meet(viewer: Viewer): void {
    this.#viewer = viewer;
    for (const collection of this.#kept.keys()) {
      if (viewer.collections.includes(collection)) void this.#load(collection);
      else this.#kept.delete(collection);
    }
  }

  /** A stream that fails does not say why; a request does. */
  async #withoutStream(): Promise<void> {
    try {
      this.#meet(await fetchViewer());
      this.#connection = { ...this.#connection, asOf: now() };
      this.#lose();
    } catch (error) {
      if (error instanceof RequestError && error.status === 401)
        this.#end(this.#viewer === undefined ? error.words : endOfSession);
      else this.#lose(wordsOf(error));
    }
  }

  async #load(collection: Collection): Promise<void> {
    const kept = this.#kept.get(collection) ?? {
      table: loading,
      byId: new Map(),
      early: undefined,
      again: false,
    };
    this.#kept.set(collection, kept);
    if (kept.early !== undefined) {
      kept.again = true;
      return;
    }
    kept.early = [];
    kept.again = false;
    try {
      const rows = await fetchRows(collection);
      const early = kept.early;
      kept.byId.clear();
      for (const row of rows) kept.byId.set(row.id, row);
      for (const change of early) apply(kept.byId, change);
      kept.table = { state: "ready", rows: [...kept.byId.values()], words: undefined };
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) this.#end(error.words);
      // Rows that are shown already are worth more than an error in their place.
      else if (kept.table.state !== "ready")
        kept.table = { state: "failed", rows: [], words: wordsOf(error) };
    }
    kept.early = undefined;
    this.#tell();
    if (kept.again && this.#kept.get(collection) === kept) void this.#load(collection);
  }

  #take(change: Change): void {
    const kept = this.#kept.get(change.collection);
    if (kept === undefined) return;
    if (kept.early !== undefined) {
      kept.early.push(change);
      return;
    }
    if (kept.table.state !== "ready") return;
    apply(kept.byId, change);
    kept.table = { ...kept.table, rows: [...kept.byId.values()] };
    this.#tell();
  }

  #lose(words?: ConsoleError): void {
    const { state, asOf } = this.#connection;
    if (state === "over") return;
    this.#stream = undefined;
    this.#say({ state: "lost", asOf, words });
    setTimeout(() => {
      if (this.#connection.state === "lost") this.start();
    }, spread(this.#pauseMs));
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }

  #end(words: ConsoleError): void {
    this.#stream?.close();
    this.#stream = undefined;
    // Nothing of a person without a session stays on the page.
    this.#kept.clear();
    this.#say({ state: "over", asOf: this.#connection.asOf, words });
  }

  #say(connection: Connection): void {
    this.#connection = connection;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function apply(byId: Map<string, Row>, { upserts, removed }: Change): void {
  for (const id of removed) byId.delete(id);
  for (const row of upserts) byId.set(row.id, row);
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
