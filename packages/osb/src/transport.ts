/** Requests to one broker: its address, authentication and version. */
import { createHttpClient, type HttpRequest, type HttpResponse, type TlsSettings } from "./http.ts";

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
  readonly tls?: TlsSettings | undefined;
}

/** A request. */
export interface BrokerRequest {
  readonly method: Exclude<HttpRequest["method"], "POST">;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends requests over kept connections. */
export interface BrokerTransport extends AsyncDisposable {
  send(request: BrokerRequest): Promise<HttpResponse>;
}

export function createTransport(config: BrokerConfig): BrokerTransport {
  const http = createHttpClient({
    peer: "the broker",
    timeoutMs: config.timeoutMs ?? 60_000,
    tls: config.tls,
  });
  const base = config.url.replace(/\/+$/, "");
  return {
    send: (wire) =>
      http.send({
        method: wire.method,
        url: `${base}${wire.path}${queryOf(wire)}`,
        headers: headersOf(config, wire),
        body: wire.body === undefined ? undefined : JSON.stringify(wire.body),
        signal: wire.signal,
        action: `${wire.method} ${wire.path}`,
      }),
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

/** With its question mark, or empty. */
function queryOf(wire: BrokerRequest): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(wire.query ?? {}))
    if (value !== undefined) query.set(name, value);
  return query.size > 0 ? `?${query.toString()}` : "";
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
