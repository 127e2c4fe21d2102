/** The real provider-kubernetes as a process: its kinds, its ProviderConfig, and the process itself. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { reservePort, type ReservedPorts, reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import { type KubeObject, recordAt, type ResourceType, secrets, textAt } from "@klutch/kube-core";
import { installKinds, manifestsIn } from "./install.ts";
import { objectOfType, secretObject } from "./objects.ts";
import { makeProviderFolder } from "./operator-folder.ts";
import { waitFor } from "./wait-for.ts";

/** Options of `startProviderKubernetes`. */
export interface ProviderKubernetesOptions {
  /** A client of the administrator. */
  readonly client: KubeClient;
  /** Kubeconfig of the same cluster, as YAML; provider-kubernetes makes its objects with these credentials. */
  readonly kubeconfig: string;
  /** Folder of `startCluster`: the webhook uses the API server's certificate in it, and the process's files are written there. */
  readonly clusterFolder: string;
  /** Namespace of the ProviderConfig's Secret. It must exist. */
  readonly namespace: string;
}

/** The kind that it makes other objects from. Its first version cannot ask by CEL. */
export const kubernetesObjects: ResourceType = {
  group: "kubernetes.crossplane.io",
  version: "v1alpha2",
  plural: "objects",
  kind: "Object",
  namespaced: false,
};

/** The same for namespaced composites. */
export const namespacedKubernetesObjects: ResourceType = {
  group: "kubernetes.m.crossplane.io",
  version: "v1alpha1",
  plural: "objects",
  kind: "Object",
  namespaced: true,
};

/** The ProviderConfig and the ClusterProviderConfig that `startProviderKubernetes` makes. */
export const kubernetesProviderConfig = "kubernetes-provider";

const configKinds: readonly ResourceType[] = [
  { ...kubernetesObjects, version: "v1alpha1", plural: "providerconfigs", kind: "ProviderConfig" },
  {
    ...namespacedKubernetesObjects,
    plural: "clusterproviderconfigs",
    kind: "ClusterProviderConfig",
    namespaced: false,
  },
];
const manager = { fieldManager: "klutch-testing", force: true };
/** Port of its webhook server. No flag of version 1.2 changes it, or the address, which is every one of the machine. */
const webhookPort = 9443;

/**
 * Installs its kinds and starts it, so that it watches what its Objects are about. One runs at a time on a machine, because its webhook's
 * port cannot be chosen: the end of another one is waited for. The identity of a pod (`InjectedIdentity`) needs a pod, so its
 * ProviderConfig names a Secret with a kubeconfig. Disposing it stops the process; the kinds stay.
 */
export async function startProviderKubernetes(options: ProviderKubernetesOptions): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  stack.use(await webhookTurn());
  const { ports } = stack.use(await reservePorts(1));
  const program = await resolveEngine("provider-kubernetes");
  const kinds = await readKinds(options.clusterFolder, join(dirname(program), "package", "crds"));
  await installKinds(options.client, kinds);
  const { env, logFile } = await makeProviderFolder(
    options.clusterFolder,
    "provider-kubernetes",
    options.kubeconfig,
  );
  const probe = `127.0.0.1:${ports[0]}`;
  stack.use(
    await startProcess({
      name: "provider-kubernetes",
      command: program,
      args: ["--enable-watches", `--health-probe-bind-addr=${probe}`],
      env,
      logFile,
      ready: async () => (await fetch(`http://${probe}/readyz`)).ok,
    }),
  );
  await configure(options);
  return stack.move();
}

/** Takes the port of the webhook server, which other providers of Crossplane have too, once it is free. */
export async function webhookTurn(): Promise<ReservedPorts> {
  const description = `port ${webhookPort}, which provider-kubernetes needs, to be free`;
  return waitFor(description, () => reservePort(webhookPort), { timeoutMs: 300_000 });
}

/** Reads its kinds. The package leaves the address of their webhook open; the installer fills it in. */
async function readKinds(clusterFolder: string, folder: string): Promise<readonly KubeObject[]> {
  const authority = await readFile(join(clusterFolder, "certs", "apiserver.crt"));
  const url = `https://127.0.0.1:${webhookPort}/convert`;
  const clientConfig = { url, caBundle: authority.toString("base64") };
  const conversion = { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } };
  return (await manifestsIn(folder)).map((crd) => {
    const spec = recordAt(crd, "spec");
    return textAt(spec, "conversion", "strategy") === "Webhook"
      ? { ...crd, spec: { ...spec, conversion } }
      : crd;
  });
}

async function configure({ client, kubeconfig, namespace }: ProviderKubernetesOptions): Promise<void> {
  const secretRef = { namespace, name: kubernetesProviderConfig, key: "kubeconfig" };
  await client.apply(secrets, secretObject(namespace, secretRef.name, { kubeconfig }), manager);
  for (const type of configKinds) {
    const spec = { credentials: { source: "Secret", secretRef } };
    const config = objectOfType(type, { name: kubernetesProviderConfig }, { spec });
    await waitFor(`its ${type.kind} to be made`, () => client.apply(type, config, manager));
  }
}
