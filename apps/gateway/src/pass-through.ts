/** Sends a request on to the API server with the tenant's own token, and its answer back. */
import type { Clock, Transport, WireRequest } from "@klutch/kube";
import {
  type Answer,
  answerFailure,
  bodyOf,
  type HoldBytes,
  pour,
  sendHead,
  type ServerRequest,
  sinkOf,
} from "./exchange.ts";
import { answeredHeaders } from "./headers.ts";

/** API servers take 3 MiB. */
export const longestBody: number = 4 * 1024 * 1024;
const methods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
/** A watch without bookmarks is silent for as long as nothing happens. */
const longestSilenceMs = 3_700_000;

/** A request to pass through. */
export interface Passed {
  readonly request: ServerRequest;
  readonly answer: Answer;
  readonly forwarded: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, "schedule">;
  readonly hold: HoldBytes;
  /** Longest body that is taken. */
  readonly mostBytes: number;
}

/** Resolves when the answer is complete, or cannot be completed. */
export async function passThrough(transport: Pick<Transport, "send">, passed: Passed): Promise<void> {
  const { request, answer, forwarded, signal, mostBytes, clock, hold } = passed;
  const { method = "", url: path = "" } = request;
  if (!isMethod(method)) {
    const message = `the method ${JSON.stringify(method.slice(0, 20))} is not supported`;
    return answerFailure(answer, { code: 405, reason: "MethodNotAllowed", message });
  }
  const body = await bodyOf(request, mostBytes);
  if (body === undefined) {
    const message = `the body is longer than ${mostBytes} bytes`;
    return answerFailure(answer, { code: 413, reason: "RequestEntityTooLarge", message });
  }
  const content = body.length === 0 ? {} : { body, contentType: forwarded["content-type"] };
  try {
    const wire = { method, path, ...content, headers: forwarded, signal, bodyTimeoutMs: longestSilenceMs };
    const response = await transport.send(wire);
    sendHead(answer, response.status, answeredHeaders(response.headers));
    const isTaken = await pour(sinkOf(answer, signal, hold), clock, response.body);
    if (isTaken) answer.end();
    else answer.destroy();
  } catch {
    if (answer.headersSent || signal.aborted) return void answer.destroy();
    const message = "the API server of the control plane gave no answer";
    answerFailure(answer, { code: 503, reason: "ServiceUnavailable", message, retryAfterSeconds: 2 });
  }
}

function isMethod(method: string): method is WireRequest["method"] {
  return methods.has(method);
}
