/** The provider's process. */
import { once } from "node:events";
import { createKubeClient, inClusterConfig, loadKubeconfig } from "@klutch/kube";
import { LeaderElector, startProbes } from "@klutch/kube-runtime";
import { createLogger, createMetrics } from "@klutch/telemetry";
import { readConfig } from "./config.ts";
import { type ObservedCache, runProvider } from "./provider.ts";

const { env } = process;
const config = readConfig(process.argv.slice(2), env);
const logger = createLogger({ name: "provider-anynines", level: config.verbose ? "debug" : "info" });
const metrics = createMetrics({ processMetrics: true });
const outside = config.kubeconfig !== undefined || env["KUBECONFIG"] !== undefined;
const cluster = outside ? await loadKubeconfig({ path: config.kubeconfig, env }) : await inClusterConfig(env);
const stop = new AbortController();
void Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]).then(() =>
  stop.abort(new Error("stopping")),
);

await using leaseClient = createKubeClient({ ...cluster, name: "lease" }, { userAgent: "provider-anynines" });
const elector = config.leaderElection
  ? new LeaderElector({
      client: leaseClient,
      namespace: config.namespace,
      name: "crossplane-leader-election-provider-anynines",
      identity: env["POD_NAME"] ?? `provider-anynines-${process.pid}`,
      logger,
    })
  : undefined;
await using client = createKubeClient(
  { ...cluster, name: "provider" },
  { userAgent: "provider-anynines", logger, metrics, writeGuard: elector },
);
let caches: readonly ObservedCache[] = [];
await using probes = await startProbes({
  ...(config.probeHost === "" ? {} : { host: config.probeHost }),
  port: config.probePort,
  metrics,
  readyChecks: {
    caches: () => caches.find((cache) => !cache.synced || cache.status().stale)?.type.plural,
  },
});
logger.info("starting", { probePort: probes.port });
await runProvider({
  ...config,
  client,
  logger,
  metrics,
  env,
  elector,
  signal: stop.signal,
  onCaches: (all) => {
    caches = all;
  },
});
