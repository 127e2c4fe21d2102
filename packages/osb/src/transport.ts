/** Requests to one broker: its address, authentication and version. */
import {
  type Clean,
  cleanerFor,
  type HttpRequest,
  type HttpResponse,
  type TlsSettings,
} from "@klutch/http-client";
import { type BrokerAuth, createCredentials, type Credentials, sendAuthorized } from "./auth.ts";
import { OsbTransportError } from "./errors.ts";
import { createNamedClient, type NamedClient, type NamedRequest } from "./http.ts";
import { apiVersions, nextVersion } from "./version.ts";

/** Address and credentials of a broker. */
export interface BrokerConfig {
  /** Base URL; a slash at the end does not matter. */
  readonly url: string;
  /** Default none. */
  readonly auth?: BrokerAuth | undefined;
  /**
   * Default: the newest of 2.17 to 2.13 that the broker does not refuse with 412, remembered while the client lives. A version
   * that is given is sent as it is and never changed.
   */
  readonly apiVersion?: string | undefined;
  /** Maximum time of one request in milliseconds. Default 60 000. */
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
}

/** Called for each request that was sent, with the status of the answer, or undefined without one, and the duration. */
export type ObserveRequest = (request: BrokerRequest, status: number | undefined, tookMs: number) => void;

/** Sends requests over kept connections. */
export interface BrokerTransport extends AsyncDisposable {
  /**
   * The answer to what `build` makes for the broker's version. It is called again for each version that is tried, and throws
   * for one that cannot carry the request. Sent more than once only after 412, which means that nothing was done, and once
   * with a new token after 401.
   */
  send(build: (version: string) => BrokerRequest, signal: AbortSignal | undefined): Promise<HttpResponse>;
  /** Makes what the broker says fit for people; it shows none of the credentials that were ever sent. */
  readonly clean: Clean;
}

/** Options and callbacks of a transport. */
export interface TransportOptions {
  readonly observe: ObserveRequest;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
}

/** Throws `OsbTransportError` `NotSent` when the configuration cannot work. */
export function createTransport(config: BrokerConfig, options: TransportOptions): BrokerTransport {
  const { tls, timeoutMs = 60_000 } = config;
  if ((tls?.cert === undefined) !== (tls?.key === undefined))
    throw new OsbTransportError("NotSent", "a client certificate needs both tls.cert and tls.key");
  const credentials = createCredentials(config.auth, { now: options.now, timeoutMs });
  const http = createNamedClient("the broker", { timeoutMs, tls });
  const send = authorizedSender(config.url, { http, credentials, ...options });
  let version: string = config.apiVersion ?? apiVersions[0];
  return {
    async send(build, signal) {
      const refused = new Set<string>();
      for (let tried = version; ; ) {
        const response = await send(build(tried), tried, signal);
        if (config.apiVersion !== undefined) return response;
        if (response.status !== 412) {
          version = tried;
          return response;
        }
        refused.add(tried);
        const next = nextVersion(refused, response.text);
        if (next === undefined) return response;
        tried = next;
      }
    },
    clean: (text, limit) => cleanerFor(credentials.secrets())(text, limit),
    async [Symbol.asyncDispose]() {
      await Promise.all([http[Symbol.asyncDispose](), credentials[Symbol.asyncDispose]()]);
    },
  };
}

/** Sends in one version; once more with a new token when the broker refuses the present one and there can be another. */
function authorizedSender(
  url: string,
  parts: TransportOptions & { readonly http: NamedClient; readonly credentials: Credentials },
): (request: BrokerRequest, version: string, signal: AbortSignal | undefined) => Promise<HttpResponse> {
  const { http, credentials, observe, now } = parts;
  const base = url.replace(/\/+$/, "");
  return async (request, version, signal) => {
    const wire = wireOf(base, request, version);
    const attempt = async (authorization: string | undefined): Promise<HttpResponse> => {
      const headers = authorization === undefined ? wire.headers : { ...wire.headers, authorization };
      const startedAt = now();
      let status: number | undefined;
      try {
        const response = await http.send({ ...wire, headers, signal });
        ({ status } = response);
        return response;
      } finally {
        observe(request, status, now() - startedAt);
      }
    };
    return sendAuthorized(credentials, attempt, signal);
  };
}

function wireOf(base: string, request: BrokerRequest, version: string): NamedRequest {
  const { method, path, body } = request;
  return {
    method,
    url: `${base}${path}${queryOf(request)}`,
    headers: {
      "x-broker-api-version": version,
      accept: "application/json",
      ...request.headers,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    action: `${method} ${path}`,
  };
}

/** Returns the query with its question mark, or an empty text. */
function queryOf({ query = {} }: BrokerRequest): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.set(name, value);
  return fields.size > 0 ? `?${fields.toString()}` : "";
}
