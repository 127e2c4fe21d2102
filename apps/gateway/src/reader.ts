/** Sends bytes as fast as their reader takes them, and cuts off one that takes nothing. */
import type { Clock } from "@klutch/kube";
import { inTime } from "./in-time.ts";

/** Takes the bytes of an answer. */
export interface Sink {
  /** False: the reader is slow, wait for `drained`. */
  write(bytes: Uint8Array): boolean;
  /** Resolves when the reader has caught up, or has gone. */
  drained(): Promise<void>;
  /** Counts the bytes that wait here, and these, as unread by the reader's account; undefined if it has too many of them. */
  hold(moreBytes: number): Disposable | undefined;
  /** Aborts when the reader has gone, or the process stops. */
  readonly signal: AbortSignal;
}

/** Time for which a reader may take nothing; then it is cut off. */
export const slowestMs = 30_000;
/** Small buffers are sent together up to this size, and large ones in parts of it, so that no answer waits as a whole. */
export const pieceBytes: number = 64 * 1024;

/**
 * Writes buffers in pieces. Resolves with false if the reader is to be cut off, and with true without writing the rest if it has gone. `more`:
 * bytes that wait elsewhere for this reader. Default 0.
 */
export async function send(
  sink: Sink,
  clock: Pick<Clock, "schedule">,
  buffers: Iterable<Uint8Array>,
  more = 0,
): Promise<boolean> {
  for (const piece of inPieces(buffers)) {
    if (!sink.write(piece)) {
      using held = sink.hold(more);
      if (held === undefined || !(await inTime(clock, slowestMs, sink.drained()))) return false;
    }
    if (sink.signal.aborted) return true;
  }
  return true;
}

/** Copies small buffers together and leaves large ones where they are: many readers of one object hold it once. */
export function* inPieces(buffers: Iterable<Uint8Array>): Generator<Uint8Array> {
  let small: Uint8Array[] = [];
  let length = 0;
  for (const buffer of buffers) {
    if (length > 0 && length + buffer.length > pieceBytes) {
      yield Buffer.concat(small, length);
      [small, length] = [[], 0];
    }
    if (buffer.length <= pieceBytes) {
      small.push(buffer);
      length += buffer.length;
    } else for (let at = 0; at < buffer.length; at += pieceBytes) yield buffer.subarray(at, at + pieceBytes);
  }
  if (length > 0) yield Buffer.concat(small, length);
}
