/** Requests to one backup manager: its address and its credentials. */
import { createHttpClient, HttpFailure, type HttpResponse } from "@klutch/http-client";
import { inSpan } from "@klutch/telemetry";
import type { CallAbout } from "./call.ts";
import type { CheckedConfig } from "./config.ts";
import { brokenAnswer } from "./failures.ts";

/** A request. */
export interface WireRequest extends CallAbout {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the base address, escaped, with a slash at its begin. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** True to use only the status of a 2xx answer and discard its body, however long it is. */
  readonly statusOnly?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends requests over kept connections. */
export interface Transport extends AsyncDisposable {
  /** Throws `BackupManagerTransportError`, or the reason of the caller's signal. */
  send(request: WireRequest): Promise<HttpResponse>;
}

/** Connections are kept until it is disposed; calls that run then fail. */
export function createTransport({ base, authorization, timeoutMs, tls }: CheckedConfig): Transport {
  const http = createHttpClient({ timeoutMs, tls });
  return {
    async send(wire) {
      const { method, path, body, statusOnly, signal } = wire;
      const headers = {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(authorization === undefined ? {} : { authorization }),
      };
      const text = body === undefined ? undefined : JSON.stringify(body);
      try {
        // Nothing of the trace goes to the manager: it is a stranger.
        return await inSpan(
          { name: "backup manager", kind: "client", attributes: { "http.request.method": method } },
          () => http.send({ method, url: `${base}${path}`, headers, body: text, statusOnly, signal }),
        );
      } catch (error) {
        if (!(error instanceof HttpFailure)) throw error;
        throw brokenAnswer(error, wire);
      }
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
