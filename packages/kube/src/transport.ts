/**
 * The connections to one API server. HTTP/2 by default, so that many watches share few connections. Large answers come over HTTP/1.1: for
 * a page of a list in one write instead of hundreds of frames the server needs half the CPU time (proof/bench/RESULTS.md). What has a body goes
 * over HTTP/1.1, too: when such a request is aborted over HTTP/2, Node may never come back from writing frames of it, until all memory of
 * the machine is taken; and a closed connection cuts a write for certain.
 */
import { subscribe } from "node:diagnostics_channel";
import { createSecureContext, type SecureContext } from "node:tls";
import { activeScope, formatTraceparent } from "@klutch/telemetry";
import { Agent, buildConnector, request } from "undici";
import { type AuthSource, createAuthSource } from "./auth.ts";
import type { Clock } from "./clock.ts";
import type { ClusterConfig, Impersonation } from "./config.ts";
import { boundedText, createTurns, type Turns } from "./body-text.ts";
import { TransportError, toTransportError } from "./errors.ts";
import { closeLateStream } from "./late-streams.ts";
import { BodyTimeoutError, exchange, type ShortAnswer } from "./short-exchange.ts";

/** A request on the wire. */
export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with query. */
  readonly path: string;
  readonly body?: string | Uint8Array | undefined;
  /** Further headers in lower case, which replace those of the transport. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest silence inside the body. Default 60 000. */
  readonly bodyTimeoutMs?: number | undefined;
  /** A long body is expected. Default false. */
  readonly isLarge?: boolean | undefined;
}

/** An answer whose body has not been read. */
export interface WireResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body. Throws `TransportError` with code `TooLarge` when it is longer. */
  text(limitBytes: number): Promise<string>;
  /** Gives the connection back without reading the rest. */
  discard(): Promise<void>;
}

/** Sends requests with the cluster's credentials. */
export interface Transport {
  send(request: WireRequest): Promise<WireResponse>;
  /** Sends a request and reads its answer as a whole. Throws `TransportError` with code `TooLarge` when the body is longer. */
  exchange(request: WireRequest, limitBytes: number): Promise<ShortAnswer>;
  close(): Promise<void>;
}

subscribe("http2.client.stream.created", closeLateStream);

const headersTimeoutMs = 30_000;
const connectTimeoutMs = 10_000;
/** Longest time for the whole body of an answer; a watch has none. */
const bodyDeadlineMs = 300_000;
/** Longest silence inside a body. */
const defaultBodyTimeoutMs = 60_000;
/** For large answers; more of them wait. */
const largeConnections = 4;
/** For requests with a body, if the caller names no other number; more of them wait. */
const defaultBodyConnections = 64;
/** Time for which an idle one is kept for the next such request. */
const bodyKeepAliveMs = 10_000;

/** The pool for `config`. Credentials are added per request, so rotating them does not touch connections. */
export function createTransport(
  config: ClusterConfig,
  options: {
    userAgent: string;
    clock: Clock;
    requestTimeoutMs?: number | undefined;
    /** Requests with a body that are sent at the same moment; more of them wait. Default 64. */
    bodyConnections?: number | undefined;
  },
): Transport {
  const headersTimeout = options.requestTimeoutMs ?? headersTimeoutMs;
  const http1 = { ...config, http2: false };
  const tls = lazyTlsContext(config);
  const agents = {
    usual: createAgent(config, tls, { headersTimeout }),
    large: createAgent(http1, tls, { headersTimeout, connections: largeConnections }),
    body: createAgent(http1, tls, {
      headersTimeout,
      connections: options.bodyConnections ?? defaultBodyConnections,
      keepAliveTimeout: bodyKeepAliveMs,
    }),
  };
  const auth = createAuthSource(config.auth, options.clock);
  const turns = createTurns();
  const parts = { config, auth, turns, ...options };
  const agentOf = (wire: WireRequest): Agent =>
    wire.isLarge === true ? agents.large : wire.body === undefined ? agents.usual : agents.body;
  /** Tells that the cached credential has been replaced or has expired early; it is read again, once. */
  const isRefused = ({ status }: { readonly status: number }): boolean =>
    status === 401 && (config.auth.kind === "exec" || config.auth.kind === "tokenFile");
  return {
    async send(wire) {
      const first = await sendOnce(parts, agentOf(wire), wire);
      if (!isRefused(first)) return first;
      await first.discard();
      auth.invalidate();
      return sendOnce(parts, agentOf(wire), wire);
    },
    async exchange(wire, limitBytes) {
      const first = await exchangeOnce(parts, agentOf(wire), wire, limitBytes);
      if (!isRefused(first)) return first;
      auth.invalidate();
      return exchangeOnce(parts, agentOf(wire), wire, limitBytes);
    },
    close: async () => void (await Promise.all(Object.values(agents).map((agent) => agent.destroy()))),
  };
}

/** Returns the TLS context of all connections, made for the first of them: reading the certificates again is a fifth of a handshake. */
function lazyTlsContext({ ca, auth }: ClusterConfig): () => SecureContext {
  let context: SecureContext | undefined;
  return () =>
    (context ??= createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(auth.kind === "clientCertificate" ? { cert: auth.cert, key: auth.key.reveal() } : {}),
    }));
}

function createAgent(
  config: ClusterConfig,
  tls: () => SecureContext,
  limits: {
    readonly headersTimeout: number;
    readonly connections?: number;
    readonly keepAliveTimeout?: number;
  },
): Agent {
  const allowH2 = config.http2 ?? true;
  let connector: buildConnector.connector | undefined;
  return new Agent({
    allowH2,
    ...limits,
    connect: (target, callback) => {
      connector ??= buildConnector({
        allowH2,
        timeout: Math.min(connectTimeoutMs, limits.headersTimeout),
        rejectUnauthorized: config.insecureSkipTlsVerify !== true,
        ...(target.protocol === "https:" ? { secureContext: tls() } : {}),
        ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
      });
      connector(target, callback);
    },
  });
}

interface SendParts {
  readonly config: ClusterConfig;
  readonly auth: AuthSource;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly userAgent: string;
}

/** Names the request in errors. */
function actionOf({ server }: ClusterConfig, { method, path }: WireRequest): string {
  return `${method} ${server}${path.split("?")[0]}`;
}

function errorFor(
  error: unknown,
  { name, server }: ClusterConfig,
  action: string,
  wire: WireRequest,
): unknown {
  return toTransportError(error, action, { signal: wire.signal, cluster: { name, server } });
}

async function headersOf(
  { config, auth, userAgent }: SendParts,
  wire: WireRequest,
): Promise<Record<string, string | string[]>> {
  const authorization = await auth.header();
  const headers: Record<string, string | string[]> = {
    "user-agent": userAgent,
    accept: wire.accept ?? "application/json",
    ...impersonationHeaders(config.impersonate),
  };
  if (authorization !== undefined) headers["authorization"] = authorization;
  // The server's own spans join the trace (KEP-647).
  const span = activeScope()?.identity();
  if (span !== undefined) headers["traceparent"] = formatTraceparent(span);
  if (wire.body !== undefined) headers["content-type"] = wire.contentType ?? "application/json";
  return { ...headers, ...wire.headers };
}

async function exchangeOnce(
  parts: SendParts,
  agent: Agent,
  wire: WireRequest,
  limitBytes: number,
): Promise<ShortAnswer> {
  const { config, turns, clock } = parts;
  const action = actionOf(config, wire);
  const headers = await headersOf(parts, wire);
  const { method, body = null, bodyTimeoutMs: bodyTimeout = defaultBodyTimeoutMs, signal } = wire;
  try {
    const { origin, pathname, search } = new URL(`${config.server}${wire.path}`);
    return await exchange(
      agent,
      { origin, path: `${pathname}${search}`, method, headers, body, bodyTimeout },
      { signal, limitBytes, bodyDeadlineMs, clock, turns, action },
    );
  } catch (error) {
    throw errorFor(error, config, action, wire);
  }
}

async function sendOnce(parts: SendParts, agent: Agent, wire: WireRequest): Promise<WireResponse> {
  const { config, turns, clock } = parts;
  const action = actionOf(config, wire);
  const headers = await headersOf(parts, wire);
  try {
    const response = await request(`${config.server}${wire.path}`, {
      method: wire.method,
      dispatcher: agent,
      headers,
      body: wire.body ?? null,
      bodyTimeout: wire.bodyTimeoutMs ?? defaultBodyTimeoutMs,
      ...(wire.signal === undefined ? {} : { signal: wire.signal }),
    });
    const retryAfter = response.headers["retry-after"];
    return {
      status: response.statusCode,
      retryAfter: typeof retryAfter === "string" ? retryAfter : undefined,
      headers: response.headers,
      body: chunks(response.body),
      text: async (limitBytes) => {
        const { body } = response;
        const cancel = clock.schedule(bodyDeadlineMs, () =>
          body.destroy(new BodyTimeoutError(bodyDeadlineMs)),
        );
        try {
          return await boundedText(chunks(body), limitBytes, action, turns);
        } catch (error) {
          throw errorFor(error, config, action, wire);
        } finally {
          cancel();
        }
      },
      discard: () => response.body.dump({ limit: 65_536 }).catch(() => undefined),
    };
  } catch (error) {
    throw errorFor(error, config, action, wire);
  }
}

function impersonationHeaders(as: Impersonation | undefined): Record<string, string | string[]> {
  if (as === undefined) return {};
  return {
    "impersonate-user": as.user,
    ...(as.groups.length === 0 ? {} : { "impersonate-group": [...as.groups] }),
    ...(as.uid === undefined ? {} : { "impersonate-uid": as.uid }),
  };
}

async function* chunks(body: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) throw new TransportError("Decode", "the body is not binary");
    yield chunk;
  }
}
