/** The provider as a process. */
import { ClusterConnection, Manager } from "@klutch/kube-runtime";
import { ownCluster, runProcess } from "@klutch/program";
import { providerProgram } from "./config.ts";
import { addProvider } from "./provider.ts";

await runProcess(providerProgram, process, async (config, { signal, env, ...runtime }) => {
  const { namespace, identity, probes } = config;
  const cluster = await ownCluster(config, env);
  const lease = { namespace, identity, name: "crossplane-leader-election-provider-anynines" };
  const connection = new ClusterConnection({
    ...runtime,
    config: { ...cluster, name: "provider" },
    userAgent: "provider-anynines",
    lease: config.leaderElection ? lease : undefined,
  });
  const manager = new Manager({ ...runtime, connection, probes });
  addProvider(manager, { ...config, client: connection.client, env });
  await manager.start({ signal });
});
