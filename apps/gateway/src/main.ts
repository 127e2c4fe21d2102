/** The gateway as a process. */
import { createKubeClient } from "@klutch/kube";
import { Manager } from "@klutch/kube-runtime";
import { ownCluster, runProcess } from "@klutch/program";
import { gatewayProgram } from "./config.ts";
import { gatewayServer } from "./server.ts";

await runProcess(gatewayProgram, process, async (config, { signal, env, ...runtime }) => {
  const cluster = await ownCluster(config, env);
  const manager = new Manager({ ...runtime, probes: config.probes });
  const client = manager.own(createKubeClient(cluster, { ...runtime, userAgent: "klutch-gateway" }));
  const { listen, tls, historyBytes, historyMs, mostWatches, askEveryMs } = config;
  manager.add(
    gatewayServer({
      runtime,
      cluster,
      client,
      listen,
      tls,
      bounds: { maxBytes: historyBytes, maxAgeMs: historyMs },
      limits: { mostWatches, askEveryMs },
    }),
  );
  await manager.start({ signal });
});
