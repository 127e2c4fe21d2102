/**
 * How the parts of the konnector live; all alike.
 *
 * | when     | what a part does                                                                              |
 * |----------|-----------------------------------------------------------------------------------------------|
 * | made     | takes the caches that it reads, and subscribes to them; nothing is written yet                  |
 * | started  | works until the signal aborts; resolves when its last write has ended, rejects when it failed   |
 * | disposed | gives the caches back                                                                          |
 *
 * A part that takes nothing when it is made has just `start`. What only remembers (mappings, counts) has no `start`: it is current from
 * when it is made until it is disposed.
 */
import type { Cached, Informer } from "@klutch/kube-runtime";

/** Part that works until its signal aborts; has the same method as a `Controller`. */
export interface Startable {
  /** Call it once. */
  start(options: { readonly signal: AbortSignal }): Promise<void>;
}

/** A part that holds something from when it is made. */
export interface Part extends Startable, AsyncDisposable {}

/** A part that was started. Disposing it ends the work, waits for its end, and disposes the part. */
export class Running<P extends Part> implements AsyncDisposable {
  readonly part: P;
  readonly #abort = new AbortController();
  readonly #work: Promise<void>;

  constructor(part: P) {
    this.part = part;
    this.#work = part.start({ signal: this.#abort.signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the part was ended"));
    await this.#work;
    await this.part[Symbol.asyncDispose]();
  }
}

/** Starts parts that need each other: when one fails, the others are ended. Resolves or rejects when all have ended. */
export async function startAll(parts: readonly Startable[], signal: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const start = async (part: Startable): Promise<void> => {
    try {
      await part.start({ signal: both });
    } catch (error) {
      failed.abort(error);
    }
  };
  await Promise.all(parts.map(start));
  if (failed.signal.aborted) throw failed.signal.reason;
}

/** Resolves to true when the cache is filled, and to false when the signal aborts before. */
export async function isFilled(
  informer: Pick<Informer<Cached>, "whenSynced">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await informer.whenSynced({ signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
