/** Starts the three clusters at the same time. */
import { join } from "node:path";
import { type OwnCluster, startCluster } from "@klutch/kube-testing";
import { reportEnd } from "./supervise.ts";
import type { Clusters, SandboxBase } from "./context.ts";

export async function startClusters(base: SandboxBase): Promise<Clusters> {
  const { stack } = base;
  const { ports, folder } = base.state;
  const start = async (name: string, port: number): Promise<OwnCluster> =>
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
    for (const server of processes) reportEnd(base, server);
  return { controlPlane, appA, appB };
}
