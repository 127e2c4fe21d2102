/** Serves a composition function over gRPC. Only clients with a certificate of the given authority are answered. */
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { join } from "node:path";
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
} from "node:tls";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type Clock, systemClock } from "@klutch/kube";
import {
  certificateFollower,
  ListenError,
  readServedCertificate,
  type ServedCertificate,
} from "@klutch/kube-runtime";
import { activeScope, createMetrics, type Logger, type Metrics, type Tracer } from "@klutch/telemetry";
import { FunctionRunnerService, type RunFunctionRequest } from "../gen/run_function_pb.js";
import { createCallMetrics } from "./call-metrics.ts";
import { readAuthorities, refusalOf } from "./client-certificate.ts";
import { decodeRequest, encodeResponse } from "./codec.ts";
import type { Compose, ComposeRequest, Json } from "./types.ts";

/** Options of `serveFunction`. */
export interface ServeFunctionOptions {
  readonly compose: Compose;
  /** Default: all interfaces. */
  readonly host?: string | undefined;
  /** 0 chooses a free one. */
  readonly port: number;
  /** Folder with `tls.crt`, `tls.key` and `ca.crt`, as Crossplane mounts it. A renewed certificate serves connections that begin later. */
  readonly certificatesFolder: string;
  readonly logger: Logger;
  /** Counts calls, with the names of gRPC's own Prometheus middleware, and reads of the certificate. Default: no one sees them. */
  readonly metrics?: Metrics | undefined;
  /** Calls whose composite has a cause, by `causesOf`, are traced. Default: no traces. */
  readonly tracer?: Tracer | undefined;
  /** Returns what the composite says caused its last change. Default: nothing. */
  readonly causesOf?: ((composite: Json) => readonly string[]) | undefined;
  /** Says whether a certificate is valid now, when a request came, and when to look for a renewed certificate. */
  readonly clock?: Clock | undefined;
  /** Time that calls in flight may take when the server stops, in milliseconds. Default 5 000. */
  readonly drainMs?: number | undefined;
}

/** A server that runs; disposing it waits for calls in flight, but not for ever and for no one who only holds a connection. */
export interface FunctionServer extends AsyncDisposable {
  readonly port: number;
}

/** Starts the server. Throws when a certificate is missing: there is no mode without. */
export async function serveFunction(options: ServeFunctionOptions): Promise<FunctionServer> {
  const { logger, metrics = createMetrics(), clock = systemClock } = options;
  const certificate = await readServedCertificate(filesIn(options.certificatesFolder));
  const handler = connectNodeAdapter({ grpc: true, grpcWeb: false, connect: false, routes: routes(options) });
  const http2 = createHttp2Server(handler);
  const sessions = new Set<ServerHttp2Session>();
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  const sockets = new Set<Socket>();
  let accept = gate(certificate, options);
  // OpenSSL's judgement of the client is only taken note of; no byte reaches HTTP/2 before ours.
  const server = createTlsServer(
    { ...contextOf(certificate), ALPNProtocols: ["h2"], requestCert: true, rejectUnauthorized: false },
    (socket) => {
      if (accept(socket)) http2.emit("connection", socket);
      else socket.destroy();
    },
  );
  // Also of those that never begin to speak TLS.
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", (error) => logger.warn("a client was refused", { error }));
  await listen(server, options);
  const renewal = new AbortController();
  const take = (renewed: ServedCertificate): void => {
    accept = gate(renewed, options);
    server.setSecureContext(contextOf(renewed));
  };
  const following = certificateFollower({ logger, metrics, clock })(certificate, take, renewal);
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    async [Symbol.asyncDispose]() {
      renewal.abort();
      await following;
      await close(server, sessions, sockets, options.drainMs ?? 5_000);
    },
  };
}

function filesIn(folder: string): ServedCertificate["files"] {
  return { cert: join(folder, "tls.crt"), key: join(folder, "tls.key"), ca: join(folder, "ca.crt") };
}

function contextOf({ cert, key, ca }: ServedCertificate): SecureContextOptions {
  return { cert, key: key.reveal(), ca };
}

/** Reports whether the client is authorized, and logs why not. Throws when no client could be. */
function gate(
  { ca }: ServedCertificate,
  { logger, clock = systemClock }: ServeFunctionOptions,
): (socket: TLSSocket) => boolean {
  const authorities = readAuthorities(ca);
  return (socket) => {
    const reason = refusalOf(socket.getPeerX509Certificate(), authorities, clock.now());
    if (reason === undefined && socket.alpnProtocol === "h2") return true;
    logger.warn("a client was refused", { reason: reason ?? "it does not speak HTTP/2" });
    return false;
  };
}

function routes(options: ServeFunctionOptions): (router: ConnectRouter) => void {
  const { compose, logger, clock = systemClock } = options;
  const countCall = createCallMetrics(options.metrics);
  return (router) => {
    router.service(FunctionRunnerService, {
      runFunction(request: RunFunctionRequest) {
        const ended = countCall();
        try {
          const decoded = decodeRequest(request, clock.now());
          const response = encodeResponse(request, compose(decoded));
          ended("OK");
          traceCall(options, decoded);
          return response;
        } catch (cause) {
          ended("Internal");
          logger.error("composing failed", { error: cause });
          throw new ConnectError(
            "composing failed; see the function's log",
            Code.Internal,
            undefined,
            undefined,
            cause,
          );
        }
      },
    });
  };
}

/** Composing takes a millisecond and asks for nothing: the span says that it ran, and for which change. */
function traceCall({ tracer, causesOf }: ServeFunctionOptions, { composite }: ComposeRequest): void {
  const causes = tracer === undefined ? [] : (causesOf?.(composite) ?? []);
  if (causes.length === 0) return;
  void tracer?.run({ name: "compose", kind: "server" }, async () => {
    const scope = activeScope();
    for (const cause of causes) scope?.follow(cause);
    scope?.begin();
  });
}

async function listen(server: Server, options: ServeFunctionOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", (cause) => reject(new ListenError("the function", options, cause)));
  server.listen(options.port, options.host, resolve);
  await promise;
}

async function close(
  server: Server,
  sessions: ReadonlySet<ServerHttp2Session>,
  sockets: ReadonlySet<Socket>,
  drainMs: number,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const session of sessions) session.close();
  const timer = setTimeout(() => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  }, drainMs);
  await promise;
  clearTimeout(timer);
}
