/** The HTTP server of login, binding page and renewal, as a part of the process. A renewed certificate is for connections that begin later. */
import { createServer as createSecureServer } from "node:https";
import { serve } from "@hono/node-server";
import {
  certificateFollower,
  ListenError,
  type Runnable,
  type Runtime,
  type ServedCertificate,
} from "@klutch/kube-runtime";
import type { Backend } from "./backend.ts";
import type { BackendConfig } from "./config.ts";
import { drainable } from "./drain.ts";
import { inRequestScope } from "./request-scope.ts";

/**
 * Time in milliseconds for which an idle connection stays open. A proxy in front reuses its connections; if the server ends one at that
 * moment, the client gets a 502. So the proxy must close first: nginx and AWS end theirs after 60 s, Traefik after 90 s, Google after 600 s.
 * `headersTimeout` does not count while a connection is idle, so it may be shorter.
 */
const keepAliveTimeout = 620_000;

/** Listens until the signal aborts; requests in flight are answered then. Fails with `ListenError` when its port is taken. */
export function httpServer(
  backend: Pick<Backend, "app" | "problem"> & Partial<Pick<Backend, "drain">>,
  config: Pick<BackendConfig, "host" | "port" | "tls">,
  runtime: Pick<Runtime, "logger" | "metrics" | "clock" | "tracer">,
): Runnable {
  const { host, port, tls } = config;
  const follow = certificateFollower(runtime);
  return {
    name: "backend",
    runs: "process",
    problem: () => backend.problem(),
    async start({ signal }) {
      const { promise: closed, resolve, reject } = Promise.withResolvers<void>();
      const server = serve({
        fetch: inRequestScope(backend.app.fetch, runtime.tracer),
        port,
        ...(host === undefined ? {} : { hostname: host }),
        ...(tls === undefined
          ? { serverOptions: { keepAliveTimeout } }
          : { createServer: createSecureServer, serverOptions: { keepAliveTimeout, ...optionsOf(tls) } }),
      });
      server.on("error", (cause) => reject(new ListenError("the server of the login", config, cause)));
      const drain =
        "closeAllConnections" in server ? drainable(server, runtime.clock) : () => Promise.resolve();
      signal.addEventListener("abort", () => {
        backend.drain?.();
        void drain().then(resolve);
      });
      if (tls !== undefined && "setSecureContext" in server) {
        const following = follow(tls, (renewed) => server.setSecureContext(optionsOf(renewed)), { signal });
        await Promise.all([closed, following]);
      } else await closed;
    },
  };
}

function optionsOf({ cert, key }: ServedCertificate): { readonly cert: string; readonly key: string } {
  return { cert, key: key.reveal() };
}
