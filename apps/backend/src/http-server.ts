/** The HTTP server of login, binding page and renewal, as a part of the process. */
import { createServer as createSecureServer } from "node:https";
import { serve } from "@hono/node-server";
import { ListenError, type Runnable } from "@klutch/kube-runtime";
import type { Backend } from "./backend.ts";
import type { BackendConfig } from "./config.ts";

/** Listens until the signal aborts; requests in flight are cut off then. Fails with `ListenError` when its port is taken. */
export function httpServer(backend: Backend, config: Pick<BackendConfig, "host" | "port" | "tls">): Runnable {
  const { host, port, tls } = config;
  return {
    name: "backend",
    runs: "process",
    problem: () => backend.problem(),
    async start({ signal }) {
      const { promise: closed, resolve, reject } = Promise.withResolvers<void>();
      const server = serve({
        fetch: backend.app.fetch,
        port,
        ...(host === undefined ? {} : { hostname: host }),
        ...(tls === undefined ? {} : { createServer: createSecureServer, serverOptions: tls }),
      });
      server.on("error", (cause) => reject(new ListenError("the server of the login", config, cause)));
      signal.addEventListener("abort", () => {
        if ("closeAllConnections" in server) server.closeAllConnections();
        server.close(() => resolve());
      });
      await closed;
    },
  };
}
