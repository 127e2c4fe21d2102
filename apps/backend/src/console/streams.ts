/**
 * Tells those who look what changed, as server-sent events: at most one a second and collection, only rows that they may see at that moment. The
 * stream of a reader that does not keep up ends, and its page opens another.
 */
import type { Clock } from "@klutch/kube";
import { type Collection, collections, type ConsoleError } from "@klutch/overview";
import { UserError } from "../errors.ts";
import type { Session } from "../sessions/sessions.ts";
import type { Board, Texts } from "./board.ts";
import type { Rights, RightsOf } from "./rights.ts";
import type { ConsoleSessions } from "./sessions.ts";

/** Parts of the streams. */
export interface StreamParts {
  readonly board: Pick<Board, "visible">;
  readonly rightsOf: RightsOf;
  readonly sessions: Pick<ConsoleSessions, "check">;
  readonly clock: Clock;
}

/** Bounds of one replica. */
const [mostStreams, mostOfPerson] = [500, 8];
/** Seconds between two looks at the rows, at the rights and at the end of the session, and between two signs of life. */
const [rightsEvery, sessionEvery, beatEvery] = [2, 8, 15];
/** Bytes that wait for a reader. */
const mostWaiting = 16 * 1024 * 1024;

/** The open streams of one replica. */
export class Streams {
  readonly #parts: StreamParts;
  readonly #ends = new Map<() => void, string>();
  #isClosed = false;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /** Opens one. Throws `UserError` 429, or 503 when the replica is about to stop. */
  open(session: Session, first: Rights): ReadableStream<Uint8Array> {
    const person = JSON.stringify([session.issuer, session.subject]);
    const own = [...this.#ends.values()].filter((one) => one === person);
    if (this.#isClosed) throw new UserError(503, "This replica stops.", "Try again.");
    if (this.#ends.size >= mostStreams || own.length >= mostOfPerson)
      throw new UserError(429, "Too many pages of the console are open.", "Close some of them.");
    const abort = new AbortController();
    const end = (): void => abort.abort(new Error("the stream has ended"));
    this.#ends.set(end, person);
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const send = (text: string): void => {
            if (abort.signal.aborted) return;
            controller.enqueue(encoder.encode(text));
            if ((controller.desiredSize ?? 0) < 0) end();
          };
          void this.#run(session, first, send, abort.signal).finally(() => {
            end();
            this.#ends.delete(end);
            try {
              controller.close();
            } catch {
              // The reader has gone.
            }
          });
        },
        cancel: end,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: mostWaiting }),
    );
  }

  /** Ends all, so that the server can stop. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#ends.keys()) end();
  }

  async #run(
    session: Session,
    first: Rights,
    send: (text: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { board, rightsOf, sessions, clock } = this.#parts;
    const seen = new Map<Collection, Texts>(collections.map((name) => [name, board.visible(name, first)]));
    let rights = first;
    send(eventOf("viewer", JSON.stringify(rights.viewer)));
    try {
      for (let second = 1; !signal.aborted; second++) {
        await clock.sleep(1_000, { signal });
        if (second % beatEvery === 0) send(": \n\n");
        if (second % sessionEvery === 0 || clock.now() >= session.endsAt) await sessions.check(session);
        if (second % rightsEvery === 0) {
          const asked = await rightsOf(session);
          const [before, after] = [JSON.stringify(rights.viewer), JSON.stringify(asked.viewer)];
          if (after !== before) send(eventOf("viewer", after));
          // The board knows what it returned for rights that stay the same object.
          if (after !== before || !sameRights(asked, rights)) rights = asked;
        }
        for (const name of collections) {
          const [old, next] = [seen.get(name) ?? new Map<string, string>(), board.visible(name, rights)];
          seen.set(name, next);
          const change = changeOf(name, old, next);
          if (change !== undefined) send(eventOf("change", change));
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      // From now on nothing may be shown.
      for (const [name, old] of seen) {
        const change = changeOf(name, old, new Map());
        if (change !== undefined) send(eventOf("change", change));
      }
      send(eventOf("end", JSON.stringify(wordsOf(error))));
    }
  }
}

function sameRights(one: Rights, other: Rights): boolean {
  return (["all", "tenants", "templates"] as const).every(
    (name) => one[name].symmetricDifference(other[name]).size === 0,
  );
}

/** Returns the words for an error; those of a fault of ours say nothing of it. */
export function wordsOf(error: unknown): ConsoleError {
  if (error instanceof UserError) return { error: error.message, advice: error.advice };
  return { error: "The backend failed.", advice: "Try again. If it fails again, ask the platform operator." };
}

/** Texts are JSON, which has no line breaks. */
function eventOf(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

/** Returns a `Change` as JSON; undefined if nothing changed. */
export function changeOf(collection: Collection, old: Texts, next: Texts): string | undefined {
  if (old === next) return undefined;
  const upserts: string[] = [];
  for (const [id, text] of next) if (old.get(id) !== text) upserts.push(text);
  const removed = [...old.keys()].filter((id) => !next.has(id));
  if (upserts.length === 0 && removed.length === 0) return undefined;
  return `{"collection":${JSON.stringify(collection)},"upserts":[${upserts.join()}],"removed":${JSON.stringify(removed)}}`;
}
