/** The backend's process. */
import { inClusterConfig, loadKubeconfig } from "@klutch/kube";
import { ClusterConnection, Manager, stopOnSignals, systemRuntime } from "@klutch/kube-runtime";
import { createLogger, createMetrics } from "@klutch/telemetry";
import { createBackend } from "./backend.ts";
import { ConfigError, readConfig } from "./config.ts";
import { httpServer } from "./http-server.ts";

const { env } = process;
const config = await readConfig(process.argv.slice(2), env).catch((error: unknown) => {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exit(2);
});
const logger = createLogger({ name: "backend", level: config.verbose ? "debug" : "info" });
const runtime = systemRuntime({ logger, metrics: createMetrics({ processMetrics: true }) });
const signal = stopOnSignals(process, logger);
const outside = config.kubeconfig !== undefined || env["KUBECONFIG"] !== undefined;
const cluster = outside ? await loadKubeconfig({ path: config.kubeconfig, env }) : await inClusterConfig(env);
const connection = new ClusterConnection({
  ...runtime,
  config: { ...cluster, name: "provider-controllers" },
  userAgent: "klutch-backend",
  lease: {
    namespace: config.leaseNamespace,
    name: "klutch-backend",
    identity: env["POD_NAME"] ?? `klutch-backend-${process.pid}`,
  },
});
const probes = { host: config.host || undefined, port: config.probePort };
const manager = new Manager({ ...runtime, connection, probes });
// What people ask for is answered by every replica.
const client = manager.own(connection.clientFor({ ...cluster, name: "provider" }, { guarded: false }));
const backend = createBackend({
  ...runtime,
  config,
  cluster,
  client,
  controllerClient: connection.client,
  signal,
});
manager.add(httpServer(backend, config), ...backend.parts);
await manager.start({ signal });
