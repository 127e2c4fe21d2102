/** Starts the three clusters at the same time. */
import { join } from "node:path";
import { startCluster, type TestCluster } from "@klutch/kube-testing";
import { reportEnd } from "./supervise.ts";
import type { Clusters, Foundation } from "./world.ts";

export async function startClusters(foundation: Foundation): Promise<Clusters> {
  const { stack } = foundation;
  const { ports, folder } = foundation.state;
  const start = async (name: string, port: number): Promise<TestCluster> =>
    stack.use(
      await startCluster({
        name,
        controllerManager: true,
        fsync: true,
        dataDir: join(folder, "clusters", name),
        port,
      }),
    );
  const [controlPlane, appA, appB] = await Promise.all([
    start("control-plane", ports.controlPlaneApi),
    start("app-a", ports.appAApi),
    start("app-b", ports.appBApi),
  ]);
  for (const { processes } of [controlPlane, appA, appB])
    for (const server of processes) reportEnd(foundation, server);
  return { controlPlane, appA, appB };
}
