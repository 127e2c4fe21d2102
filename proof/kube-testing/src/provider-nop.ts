/** The real provider-nop as a process: a Crossplane provider that is not ours, and makes nothing. */
import { dirname, join } from "node:path";
import { resolveEngine, startProcess } from "@klutch/engines";
import { type KubeClient, parseForeignKubeconfig } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";
import { installKinds, manifestsIn } from "./install.ts";
import { makeProviderFolder } from "./operator-folder.ts";
import { prepareOwnNetwork } from "./own-network.ts";

/** Options of `startProviderNop`. */
export interface ProviderNopOptions {
  /** A client of the administrator. */
  readonly client: KubeClient;
  /** Kubeconfig of the same cluster, as YAML. */
  readonly kubeconfig: string;
  /** Folder of `startCluster`: the webhook server, which no one calls, uses the API server's certificate in it, and the process's files are written there. */
  readonly clusterFolder: string;
}

/** Its cluster-scoped managed resources. */
export const nopResources: ResourceType = {
  group: "nop.crossplane.io",
  version: "v1alpha1",
  plural: "clusternopresources",
  kind: "ClusterNopResource",
  namespaced: false,
};

/**
 * Installs its kinds and starts it. It looks at each managed resource every second. Its webhook server has a fixed port on all addresses, so it runs
 * in a network of its own, which `missingForOwnNetwork` may say this machine lacks. Disposing it stops the process; the kinds stay.
 */
export async function startProviderNop(options: ProviderNopOptions): Promise<AsyncDisposable> {
  const { client, clusterFolder, kubeconfig } = options;
  await using stack = new AsyncDisposableStack();
  const { server } = parseForeignKubeconfig(kubeconfig, { namespace: "default" });
  const network = stack.use(await prepareOwnNetwork(Number(new URL(server).port)));
  const program = await resolveEngine("provider-nop");
  await installKinds(client, await manifestsIn(join(dirname(program), "package", "crds")));
  const { env, logFile } = await makeProviderFolder(clusterFolder, "provider-nop", kubeconfig);
  stack.use(
    await startProcess({
      name: "provider-nop",
      ...network.enter(program, ["--poll=1s"]),
      env,
      logFile,
      // It has no probe.
      ready: () => Promise.resolve(network.connections > 0),
    }),
  );
  return stack.move();
}
