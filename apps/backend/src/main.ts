/** The backend's process. */
import { createServer as createSecureServer } from "node:https";
import { once } from "node:events";
import { serve } from "@hono/node-server";
import { createKubeClient, inClusterConfig, loadKubeconfig, systemClock } from "@klutch/kube";
import { LeaderElector, startProbes } from "@klutch/kube-runtime";
import { createLogger, createMetrics } from "@klutch/telemetry";
import { createBackend } from "./backend.ts";
import { ConfigError, readConfig } from "./config.ts";

const { env } = process;
const config = await readConfig(process.argv.slice(2), env).catch((error: unknown) => {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exit(2);
});
const logger = createLogger({ name: "backend", level: config.verbose ? "debug" : "info" });
const metrics = createMetrics({ processMetrics: true });
const outside = config.kubeconfig !== undefined || env["KUBECONFIG"] !== undefined;
const cluster = outside ? await loadKubeconfig({ path: config.kubeconfig, env }) : await inClusterConfig(env);
const stop = new AbortController();
void Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]).then(() =>
  stop.abort(new Error("stopping")),
);

const userAgent = "klutch-backend";
await using leaseClient = createKubeClient({ ...cluster, name: "lease" }, { userAgent });
const elector = new LeaderElector({
  client: leaseClient,
  namespace: config.leaseNamespace,
  name: "klutch-backend",
  identity: env["POD_NAME"] ?? `klutch-backend-${process.pid}`,
  logger,
});
await using client = createKubeClient({ ...cluster, name: "provider" }, { userAgent, logger, metrics });
await using controllerClient = createKubeClient(
  { ...cluster, name: "provider-controllers" },
  { userAgent, logger, metrics, writeGuard: elector },
);
const backend = createBackend({
  config,
  cluster,
  client,
  controllerClient,
  elector,
  logger,
  metrics,
  clock: systemClock,
  signal: stop.signal,
});
const server = serve({
  fetch: backend.app.fetch,
  port: config.port,
  ...(config.host === "" ? {} : { hostname: config.host }),
  ...(config.tls === undefined ? {} : { createServer: createSecureServer, serverOptions: config.tls }),
});
await using probes = await startProbes({
  port: config.probePort,
  metrics,
  readyChecks: { backend: () => backend.problem() },
  ...(config.host === "" ? {} : { host: config.host }),
});
logger.info("serving", { address: `${config.host}:${config.port}`, probePort: probes.port });
await backend.run();
if ("closeAllConnections" in server) server.closeAllConnections();
server.close();
