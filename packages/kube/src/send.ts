/** Sends one short request: flow control, write guard, metrics, and a bounded wait when the server says "later". */
import { type BodyLimits, bodyLimits } from "./body-text.ts";
import type { Clock } from "./clock.ts";
import { decodeError } from "./decode.ts";
import { ApiError, isTooManyRequests, TransportError } from "./errors.ts";
import type { FlowControl } from "./flow-control.ts";
import type { Random } from "./random.ts";
import { activeScope, type SpanOptions } from "@klutch/telemetry";
import type { Measure } from "./request-metrics.ts";
import type { Transport, WireRequest } from "./transport.ts";
import type { WriteGuard } from "./types.ts";

/** A request with JSON body, and what it means. */
export interface SendRequest {
  readonly method: WireRequest["method"];
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For messages: `get Secret default/a`. */
  readonly what: string;
  /** Guarded by the lease. A raw request counts as a write unless it is a GET. */
  readonly isWrite?: boolean | undefined;
  /** Its latency says nothing about load. */
  readonly isList?: boolean | undefined;
  readonly isLarge?: WireRequest["isLarge"];
  /** Called with the status code of a 2xx answer, before the promise resolves. */
  readonly onStatus?: ((status: number) => void) | undefined;
}

/** Resolves to the body's text of a 2xx answer; throws `ApiError`, `TransportError` or `FencedError`. */
export type Send = (request: SendRequest) => Promise<string>;

/** A refused request (429) has had no effect, so sending it again is safe; after this many times the caller decides. */
const maxThrottledTries = 5;
const defaultRetryAfterMs = 1000;

interface SenderParts {
  readonly transport: Transport;
  readonly flow: FlowControl | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly measure: Measure;
  readonly writeGuard: WriteGuard | undefined;
  readonly limits?: BodyLimits | undefined;
}

/** The sender of one client. */
export function createSender(parts: SenderParts): Send {
  const { measure } = parts;
  const eitherOf = createEitherOf();
  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      const permit = await parts.flow?.acquire(request.signal);
      const started = parts.clock.monotonic();
      try {
        const scope = activeScope();
        const sendOnce = (): Promise<string> => sendGuarded(parts, request, eitherOf);
        const text = await (scope === undefined ? sendOnce() : scope.child(spanOf(request), sendOnce));
        const latencyMs = parts.clock.monotonic() - started;
        permit?.done(request.isList === true ? {} : { latencyMs });
        measure(request.method, 200, latencyMs);
        return text;
      } catch (error) {
        const latencyMs = parts.clock.monotonic() - started;
        measure(request.method, error instanceof ApiError ? error.status : undefined, latencyMs);
        const throttledForMs = throttledFor(error, parts.random);
        permit?.done(
          throttledForMs !== undefined
            ? { throttledForMs }
            : error instanceof ApiError && error.status < 500
              ? { latencyMs }
              : {},
        );
        if (!mayRepeat(request, error, attempt)) throw error;
        if (parts.flow === undefined)
          await parts.clock.sleep(throttledForMs ?? 0, { signal: request.signal });
      }
    }
  };
}

/** Gives spans few names; `what` names the kind and the object. */
function spanOf({ method, what }: SendRequest): SpanOptions {
  return {
    name: `Kubernetes ${method}`,
    kind: "client",
    attributes: { "http.request.method": method, "klutch.request": what },
  };
}

/** A 429 has had no effect. A read whose kept-alive connection the server closed just then is repeated once. */
function mayRepeat(request: SendRequest, error: unknown, attempt: number): boolean {
  if (isTooManyRequests(error)) return attempt < maxThrottledTries;
  return (
    request.method === "GET" && attempt === 1 && error instanceof TransportError && error.code === "Reset"
  );
}

/** Jitter of up to a fifth keeps the clients that were refused together from coming back together. */
function throttledFor(error: unknown, random: Random): number | undefined {
  if (!isTooManyRequests(error)) return undefined;
  return (error.retryAfterMs ?? defaultRetryAfterMs) * (1 + random() / 5);
}

async function sendGuarded(
  { transport, writeGuard: guard, limits = {} }: Pick<SenderParts, "transport" | "writeGuard" | "limits">,
  request: SendRequest,
  eitherOf: EitherOf,
): Promise<string> {
  const { object = bodyLimits.object, page = bodyLimits.page } = limits;
  const { what, body, isWrite, isList, onStatus, signal, ...wire } = request;
  const guarded = guard !== undefined && (isWrite ?? request.method !== "GET");
  if (guarded) guard.assertMayWrite();
  const { status, text, retryAfter } = await transport.exchange(
    {
      ...wire,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: guarded ? eitherOf(signal, guard.signal) : signal,
    },
    isList === true ? page : object,
  );
  if (status >= 200 && status < 300) {
    onStatus?.(status);
    return text;
  }
  throw decodeError(status, text, retryAfter, what);
}

type EitherOf = (left: AbortSignal | undefined, right: AbortSignal) => AbortSignal;

/** Remembers its last combination: one controller sends thousands of requests with the same two signals, and each combination costs. */
function createEitherOf(): EitherOf {
  let last:
    | { readonly left: AbortSignal; readonly right: AbortSignal; readonly both: AbortSignal }
    | undefined;
  return (left, right) => {
    if (left === undefined) return right;
    if (last?.left !== left || last.right !== right)
      last = { left, right, both: AbortSignal.any([left, right]) };
    return last.both;
  };
}
