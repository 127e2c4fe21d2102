/** The gateway as a process: the image of the backend runs it when its first argument is `gateway`. */
import { createKubeClient } from "@klutch/kube";
import { Manager } from "@klutch/kube-runtime";
import { ownCluster, runProcess } from "@klutch/program";
import { gatewayProgram } from "./config.ts";
import { gatewayServer } from "./server.ts";

/** Runs until the process is told to stop. Sets the exit code as `runProcess` does. */
export async function runGateway(handle: typeof process): Promise<void> {
  await runProcess(gatewayProgram, handle, async (config, { signal, env, ...runtime }) => {
    const cluster = await ownCluster(config, env);
    const manager = new Manager({ ...runtime, probes: config.probes });
    const client = manager.own(createKubeClient(cluster, { ...runtime, userAgent: "klutch-gateway" }));
    const { listen, tls, historyBytes, historyMs, limits, askEveryMs } = config;
    manager.add(
      gatewayServer({
        runtime,
        cluster,
        client,
        listen,
        tls,
        bounds: { maxBytes: historyBytes, maxAgeMs: historyMs },
        limits: { ...limits, askEveryMs },
      }),
    );
    await manager.start({ signal });
  });
}
