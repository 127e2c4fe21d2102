/** A request and its answer, apart from the protocol that they came over. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Clock } from "@klutch/kube";
import { inTime } from "./in-time.ts";
import { send, type Sink, slowestMs } from "./reader.ts";
import { type Failure, statusText } from "./status.ts";

/** Request over HTTP/1.1 or HTTP/2. */
export type ServerRequest = IncomingMessage | Http2ServerRequest;
/** Its answer. */
export type Answer = ServerResponse | Http2ServerResponse;

/** Headers of an answer. */
export type AnswerHeaders = Readonly<Record<string, string | number | string[]>>;

/** Headers of JSON that no cache keeps. */
export const jsonHeaders: AnswerHeaders = {
  "content-type": "application/json",
  "cache-control": "no-cache, private",
};

/** Sends status and headers at once: a watch may have no event for long. */
export function sendHead(answer: Answer, status: number, headers: AnswerHeaders): void {
  // The two kinds of answers have the same methods, whose overloads do not unite.
  const common = answer as ServerResponse;
  common.writeHead(status, headers);
  common.flushHeaders();
}

/** Sends a failure as an API server does. */
export function answerFailure(answer: Answer, failure: Failure): void {
  const text = statusText(failure);
  const wait = failure.retryAfterSeconds;
  sendHead(answer, failure.code, {
    ...jsonHeaders,
    "content-length": Buffer.byteLength(text),
    ...(wait === undefined ? {} : { "retry-after": String(wait) }),
  });
  answer.end(text);
}

/** Returns a signal that aborts when the client has gone or the process stops. */
export function clientSignal(answer: Answer, stop: AbortSignal): AbortSignal {
  const gone = new AbortController();
  const end = (): void => gone.abort(new Error("the client has gone"));
  if (stop.aborted) end();
  stop.addEventListener("abort", end, { once: true });
  answer.on("close", () => {
    stop.removeEventListener("abort", end);
    end();
  });
  answer.on("error", end);
  return gone.signal;
}

/** Resolves when an answer that was ended has left this process. A client that does not take it in 30 seconds is cut off. */
export async function untilTaken(
  answer: Answer,
  signal: AbortSignal,
  clock: Pick<Clock, "schedule">,
): Promise<void> {
  const gone = Promise.withResolvers<void>();
  const resolve = (): void => gone.resolve();
  if (signal.aborted) return;
  signal.addEventListener("abort", resolve, { once: true });
  if (!(await inTime(clock, slowestMs, gone.promise))) answer.destroy();
  signal.removeEventListener("abort", resolve);
}

/** Counts bytes as unread by an account; undefined if it has too many of them. */
export type HoldBytes = (bytes: number) => Disposable | undefined;

/** Returns the sink of an answer. */
export function sinkOf(answer: Answer, signal: AbortSignal, hold: HoldBytes): Sink {
  return {
    signal,
    hold: (more) => hold(answer.writableLength + more),
    write: (bytes) => {
      if (signal.aborted || answer.destroyed) return true;
      return (answer as ServerResponse).write(bytes);
    },
    drained: () =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const done = (): void => {
          answer.removeListener("drain", done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        answer.on("drain", done);
        signal.addEventListener("abort", done);
      }),
  };
}

/** Bytes of an answer that the connection to the API server takes before anyone has asked for them. */
const takenAhead = 256 * 1024;

/** Writes a stream of bytes as fast as the reader takes them. Resolves with false if the reader is to be cut off. */
export async function pour(
  sink: Sink,
  clock: Pick<Clock, "schedule">,
  body: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  for await (const chunk of body) {
    if (!(await send(sink, clock, [chunk], takenAhead))) return false;
    if (sink.signal.aborted) break;
  }
  return true;
}

/** Returns the length of the body that a request announces: 0 without one, `otherwise` for a body of unknown length. */
export function announcedBytes(request: ServerRequest, otherwise: number): number {
  const text = request.headers["content-length"];
  if (text !== undefined) return /^\d{1,15}$/.test(text) ? Number(text) : otherwise;
  const hasBody =
    "stream" in request
      ? !request.stream.endAfterHeaders
      : request.headers["transfer-encoding"] !== undefined;
  return hasBody ? otherwise : 0;
}

/** Reads a body; undefined if it is longer than allowed. */
export async function bodyOf(request: ServerRequest, mostBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
