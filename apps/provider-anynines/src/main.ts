/** The provider's process. */
import { inClusterConfig, loadKubeconfig } from "@klutch/kube";
import { ClusterConnection, Manager, stopOnSignals, systemRuntime } from "@klutch/kube-runtime";
import { createLogger, createMetrics } from "@klutch/telemetry";
import { readConfig } from "./config.ts";
import { addProvider } from "./provider.ts";

const { env } = process;
const config = readConfig(process.argv.slice(2), env);
const logger = createLogger({ name: "provider-anynines", level: config.verbose ? "debug" : "info" });
const runtime = systemRuntime({ logger, metrics: createMetrics({ processMetrics: true }) });
const signal = stopOnSignals(process, logger);
const outside = config.kubeconfig !== undefined || env["KUBECONFIG"] !== undefined;
const cluster = outside ? await loadKubeconfig({ path: config.kubeconfig, env }) : await inClusterConfig(env);
const lease = {
  namespace: config.namespace,
  name: "crossplane-leader-election-provider-anynines",
  identity: env["POD_NAME"] ?? `provider-anynines-${process.pid}`,
};
const connection = new ClusterConnection({
  ...runtime,
  config: { ...cluster, name: "provider" },
  userAgent: "provider-anynines",
  lease: config.leaderElection ? lease : undefined,
});
const probes = { host: config.probeHost || undefined, port: config.probePort };
const manager = new Manager({ ...runtime, connection, probes });
addProvider(manager, { ...config, client: connection.client, env });
await manager.start({ signal });
