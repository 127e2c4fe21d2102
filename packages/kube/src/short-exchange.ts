/**
 * Sends a request and reads its answer as a whole, straight from undici's dispatcher: the stream and the promises that `request` of undici
 * makes for each answer cost more than the parsing of it.
 */
import type { Dispatcher } from "undici";
import { largeFrom, tooLarge, type Turns } from "./body-text.ts";
import type { Clock } from "./clock.ts";

/** A whole answer. */
export interface ShortAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** Bounds of an exchange. */
export interface ExchangeBounds {
  readonly signal?: AbortSignal | undefined;
  readonly limitBytes: number;
  /** Longest time for the whole body: one that comes drop by drop is never silent for long. */
  readonly bodyDeadlineMs: number;
  readonly clock: Clock;
  readonly turns: Turns;
  /** Names the request in errors. */
  readonly action: string;
}

/**
 * Resolves when the answer is complete. Rejects with the signal's reason, with `TransportError` with code `TooLarge` when the body is longer than its
 * limit, or with the error of undici; the connection is closed then.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  bounds: ExchangeBounds,
): Promise<ShortAnswer> {
  const answer = new Answer(bounds);
  if (bounds.signal?.aborted !== true) dispatcher.dispatch(request, answer);
  return answer.whole;
}

/** Collects an answer. */
class Answer implements Dispatcher.DispatchHandler {
  readonly whole: Promise<ShortAnswer>;
  readonly #bounds: ExchangeBounds;
  readonly #settle: PromiseWithResolvers<ShortAnswer>;
  readonly #onAbort = (): void => this.#fail(abortReason(this.#bounds.signal));
  #controller: Dispatcher.DispatchController | undefined;
  #failure: Error | undefined;
  #cancelDeadline: (() => void) | undefined;
  #turn: Disposable | undefined;
  #isOver = false;
  #status = 0;
  #retryAfter: string | undefined;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(bounds: ExchangeBounds) {
    this.#bounds = bounds;
    this.#settle = Promise.withResolvers();
    this.whole = this.#settle.promise;
    if (bounds.signal?.aborted === true) this.#onAbort();
    else bounds.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(this.#failure);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    const { limitBytes, action, clock, bodyDeadlineMs } = this.#bounds;
    this.#controller = controller;
    this.#status = status;
    const retryAfter = headers["retry-after"];
    this.#retryAfter = typeof retryAfter === "string" ? retryAfter : undefined;
    // The connection holds the server to the length that it has named.
    if (Number(headers["content-length"]) > limitBytes) this.#fail(tooLarge(limitBytes, action));
    else
      this.#cancelDeadline = clock.schedule(bodyDeadlineMs, () =>
        this.#fail(new BodyTimeoutError(bodyDeadlineMs)),
      );
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#isOver) return;
    const { limitBytes, action, turns } = this.#bounds;
    const before = this.#length;
    this.#length += chunk.length;
    if (this.#length > limitBytes) return this.#fail(tooLarge(limitBytes, action));
    this.#chunks.push(chunk);
    if (before > largeFrom || this.#length <= largeFrom) return;
    controller.pause();
    void turns().then((turn) => {
      if (this.#isOver) return turn[Symbol.dispose]();
      this.#turn = turn;
      controller.resume();
    });
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    const text = Buffer.concat(this.#chunks, this.#length).toString("utf8");
    this.#end();
    this.#settle.resolve({ status: this.#status, retryAfter: this.#retryAfter, text });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    this.#end();
    this.#settle.reject(error);
  }

  /** Gives the answer up and closes its connection. */
  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#failure = error;
    this.#end();
    this.#settle.reject(error);
    this.#controller?.abort(error);
  }

  #end(): void {
    this.#isOver = true;
    this.#chunks = [];
    this.#bounds.signal?.removeEventListener("abort", this.#onAbort);
    this.#cancelDeadline?.();
    this.#turn?.[Symbol.dispose]();
  }
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}

/** The body came too slowly. */
export class BodyTimeoutError extends Error {
  readonly code: string = "ETIMEDOUT";

  constructor(deadlineMs: number) {
    super(`the answer did not end within ${deadlineMs / 1000} s`);
  }
}
