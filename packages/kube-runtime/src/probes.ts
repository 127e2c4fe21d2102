/** The HTTP server for a process's health: `/healthz` (alive), `/readyz` (may be relied on), `/metrics`. */
import { createServer, type ServerResponse } from "node:http";
import type { Metrics } from "@klutch/telemetry";
import { ListenError } from "./errors.ts";

/** Returns the problem; undefined when there is none. */
export type HealthCheck = () => string | undefined;

/** Options of `startProbes`. */
export interface ProbeOptions {
  /** Default: all interfaces, because the kubelet asks from outside of the pod's loopback. */
  readonly host?: string | undefined;
  /** 0 chooses a free one. */
  readonly port: number;
  readonly healthChecks?: Readonly<Record<string, HealthCheck>> | undefined;
  readonly readyChecks?: Readonly<Record<string, HealthCheck>> | undefined;
  readonly metrics?: Metrics | undefined;
}

/** A server that runs. */
export interface ProbeServer extends AsyncDisposable {
  readonly port: number;
}

/** Starts the server. That it answers at all shows that the event loop turns. Throws `ListenError`, as when the port is taken. */
export async function startProbes(options: ProbeOptions): Promise<ProbeServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0];
    if (path === "/healthz") answer(response, options.healthChecks ?? {});
    else if (path === "/readyz") answer(response, { ...options.healthChecks, ...options.readyChecks });
    else if (path === "/metrics" && options.metrics !== undefined)
      void answerMetrics(response, options.metrics);
    else response.writeHead(404).end();
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", (cause) =>
    reject(new ListenError("the server of probes and metrics", options, cause)),
  );
  server.listen(options.port, options.host, resolve);
  await promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}

/** JSON by check, `ok` or the problem; 200 or 500, as the existing konnector's manifests expect. */
function answer(response: ServerResponse, checks: Readonly<Record<string, HealthCheck>>): void {
  const results = Object.entries(checks).map(([name, check]) => [name, resultOf(check)] as const);
  const healthy = results.every(([, result]) => result === "ok");
  response.writeHead(healthy ? 200 : 500, { "content-type": "application/json" });
  response.end(JSON.stringify(Object.fromEntries(results)));
}

/** A check that throws has failed: it must not end the process that it is about. */
function resultOf(check: HealthCheck): string {
  try {
    return check() ?? "ok";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function answerMetrics(response: ServerResponse, metrics: Metrics): Promise<void> {
  try {
    const text = await metrics.text();
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text);
  } catch {
    response.writeHead(500).end("the metrics could not be collected");
  }
}
