/** HTTP to one broker: authentication, TLS, time and size limits. */
import { Agent, request } from "undici";
import { OsbTransportError } from "./errors.ts";

/** How to reach a broker. */
export interface BrokerConfig {
  /** Base URL; a slash at the end does not matter. */
  readonly url: string;
  readonly auth?:
    | { readonly kind: "basic"; readonly username: string; readonly password: string }
    | { readonly kind: "bearer"; readonly token: string }
    | undefined;
  /** Default `2.17`. Brokers accept a higher minor version than their own. */
  readonly apiVersion?: string | undefined;
  /** Of one request. Default 60 000. */
  readonly timeoutMs?: number | undefined;
  readonly tls?:
    | {
        /** PEM. */
        readonly ca?: string | undefined;
        readonly serverName?: string | undefined;
        readonly insecureSkipVerify?: boolean | undefined;
        /** Client certificate and key, PEM. */
        readonly cert?: string | undefined;
        readonly key?: string | undefined;
      }
    | undefined;
}

/** A request. */
export interface BrokerRequest {
  readonly method: "GET" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An answer. */
export interface BrokerResponse {
  readonly status: number;
  readonly text: string;
  /** Media type without parameters, in lower case; empty when there is none. */
  readonly contentType: string;
  readonly retryAfterMs: number | undefined;
}

/** Sends requests over kept connections. */
export interface BrokerTransport extends AsyncDisposable {
  send(request: BrokerRequest): Promise<BrokerResponse>;
}

/** The longest answer that is read; a catalog of a thousand plans is far smaller. */
const maxBytes = 8 * 1024 * 1024;
/** The longest wait that is taken from an answer: a proxy that names a year must not put a resource to sleep for it. */
const longestWaitMs = 3_600_000;
const tlsCodes = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/;

export function createTransport(config: BrokerConfig): BrokerTransport {
  const timeoutMs = config.timeoutMs ?? 60_000;
  const agent = createAgent(config, timeoutMs);
  const base = config.url.replace(/\/+$/, "");
  return {
    async send(wire) {
      const action = `${wire.method} ${wire.path}`;
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(wire.query ?? {}))
        if (value !== undefined) query.set(name, value);
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        const response = await request(`${base}${wire.path}${query.size > 0 ? `?${query.toString()}` : ""}`, {
          method: wire.method,
          dispatcher: agent,
          headers: headersOf(config, wire),
          body: wire.body === undefined ? null : JSON.stringify(wire.body),
          signal: wire.signal === undefined ? limit : AbortSignal.any([wire.signal, limit]),
        });
        return {
          status: response.statusCode,
          text: await readLimited(response.body, action),
          contentType: mediaType(response.headers["content-type"]),
          retryAfterMs: retryAfter(response.headers["retry-after"]),
        };
      } catch (error) {
        wire.signal?.throwIfAborted();
        throw translate(error, action, limit.aborted ? timeoutMs : undefined);
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/** In milliseconds; undefined when there is none that is understood. */
function retryAfter(header: string | readonly string[] | undefined): number | undefined {
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, longestWaitMs) : undefined;
}

function mediaType(header: string | readonly string[] | undefined): string {
  const [first = ""] = typeof header === "string" ? header.split(";") : (header ?? []);
  return first.trim().toLowerCase();
}

function createAgent(config: BrokerConfig, timeoutMs: number): Agent {
  const tls = config.tls ?? {};
  return new Agent({
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: {
      timeout: Math.min(timeoutMs, 10_000),
      rejectUnauthorized: tls.insecureSkipVerify !== true,
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
    },
  });
}

function headersOf(config: BrokerConfig, wire: BrokerRequest): Record<string, string> {
  const { auth } = config;
  const headers: Record<string, string> = {
    "x-broker-api-version": config.apiVersion ?? "2.17",
    accept: "application/json",
    ...wire.headers,
  };
  if (wire.body !== undefined) headers["content-type"] = "application/json";
  if (auth?.kind === "basic") {
    headers["authorization"] = `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString("base64")}`;
  } else if (auth?.kind === "bearer") {
    headers["authorization"] = `Bearer ${auth.token}`;
  }
  return headers;
}

async function readLimited(body: AsyncIterable<unknown>, action: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue;
    size += chunk.length;
    if (size > maxBytes)
      throw new OsbTransportError(
        "TooLarge",
        `the broker answered ${action} with more than ${maxBytes} bytes`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function translate(error: unknown, action: string, timedOutAfterMs: number | undefined): OsbTransportError {
  if (error instanceof OsbTransportError) return error;
  const code = codeOf(error);
  if (timedOutAfterMs !== undefined || code.endsWith("TIMEOUT")) {
    return new OsbTransportError("Timeout", `the broker did not answer ${action} in time`, { cause: error });
  }
  if (tlsCodes.test(code)) {
    return new OsbTransportError("Tls", `no trusted TLS connection to the broker (${code})`, {
      cause: error,
    });
  }
  if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new OsbTransportError("Unreachable", `the broker cannot be reached (${code})`, { cause: error });
  }
  // The connection broke after the request may have arrived.
  return new OsbTransportError("Timeout", `the connection to the broker broke during ${action} (${code})`, {
    cause: error,
  });
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string")
    return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : "unknown";
}
