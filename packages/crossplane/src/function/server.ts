/** Serves a composition function over gRPC. Only clients with a certificate of the given authority are answered. */
import { readFile } from "node:fs/promises";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import { join } from "node:path";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Logger } from "@klutch/telemetry";
import { FunctionRunnerService, type RunFunctionRequest } from "../gen/run_function_pb.js";
import { decodeRequest, encodeResponse } from "./codec.ts";
import type { Compose } from "./types.ts";

/** Options of `serveFunction`. */
export interface ServeFunctionOptions {
  readonly compose: Compose;
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
  /** Folder with `tls.crt`, `tls.key` and `ca.crt`, as Crossplane mounts it. */
  readonly certificatesFolder: string;
  readonly logger: Logger;
}

/** A server that runs; disposing it waits for calls in flight. */
export interface FunctionServer extends AsyncDisposable {
  readonly port: number;
}

/** How long calls in flight may take when the server stops. */
const drainMs = 5_000;

/** Starts the server. Throws when a certificate is missing: there is no mode without. */
export async function serveFunction(options: ServeFunctionOptions): Promise<FunctionServer> {
  const read = (name: string): Promise<Buffer> => readFile(join(options.certificatesFolder, name));
  const [cert, key, ca] = await Promise.all([read("tls.crt"), read("tls.key"), read("ca.crt")]);
  const handler = connectNodeAdapter({ grpc: true, grpcWeb: false, connect: false, routes: routes(options) });
  const server = createSecureServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, handler);
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("tlsClientError", (error) => options.logger.warn("a client was refused", { error }));
  await listen(server, options);
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    [Symbol.asyncDispose]: () => close(server, sessions),
  };
}

function routes(options: ServeFunctionOptions): (router: ConnectRouter) => void {
  const { compose, logger } = options;
  return (router) => {
    router.service(FunctionRunnerService, {
      runFunction(request: RunFunctionRequest) {
        try {
          return encodeResponse(request, compose(decodeRequest(request)));
        } catch (cause) {
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

async function listen(server: Http2SecureServer, options: ServeFunctionOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(options.port, options.host, resolve);
  await promise;
}

async function close(server: Http2SecureServer, sessions: ReadonlySet<ServerHttp2Session>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const session of sessions) session.close();
  const timer = setTimeout(() => {
    for (const session of sessions) session.destroy();
  }, drainMs);
  await promise;
  clearTimeout(timer);
}
