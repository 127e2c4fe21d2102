/** One app cluster and its place on the provider: what the backend and the plugin would have made. */
import {
  apiServiceBindings,
  apiServiceExports,
  bindCrds,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  kubeconfigKey,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import { type ClusterConfig, formatKubeconfig, type KubeClient } from "@klutch/kube";
import { ApiServerModel, secretObject, seededRandom, type VirtualClock } from "@klutch/kube-testing";
import { Secret } from "@klutch/telemetry";
import { exportOf, simulatedApis } from "./apis.ts";

/** Namespaces of an app cluster in which users work. */
export const workNamespaces: readonly string[] = ["app", "other"];

/** Its agents come and go; the two servers and the tenant's place stay for the whole run. */
export interface SimulatedTenant {
  /** `consumer-1`; the host of its address, too. */
  readonly name: string;
  readonly consumer: ApiServerModel;
  /** Sees no faults: it plays users, controllers and observers. */
  readonly direct: KubeClient;
  readonly config: ClusterConfig;
  /** Cluster namespace on the provider. */
  readonly namespace: string;
}

const object = (kind: string, metadata: object, fields: object = {}, apiVersion = "v1"): DynamicObject => ({
  apiVersion,
  kind,
  metadata,
  ...fields,
});

/** Makes the provider's part that all tenants share. */
export async function prepareProvider(direct: KubeClient): Promise<void> {
  for (const crd of [...bindCrds, ...simulatedApis.map((api) => api.crd)])
    await direct.create<KubeObject>(customResourceDefinitions, crd);
}

/** Makes an app cluster, bound to all APIs. */
export async function createTenant(
  index: number,
  seed: number,
  clock: VirtualClock,
  provider: KubeClient,
): Promise<SimulatedTenant> {
  const name = `consumer-${index}`;
  const consumer = new ApiServerModel({ clock, uidSeed: seed * 10 + index });
  const random = seededRandom(seed * 10 + index);
  // A delete may overtake the finalizer of an agent.
  const deleteMs = (): number => Math.max(0, random() - 0.5) * 200;
  const direct = consumer.client({ clusterName: `${name}-direct`, user: "user", deleteMs });
  const namespace = `cluster-${index}`;
  await provider.create(namespaces, object("Namespace", { name: namespace }));
  await provider.create(
    clusterBindings,
    object(
      "ClusterBinding",
      { namespace, name: clusterBindingName },
      {
        spec: {
          kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey },
          providerPrettyName: "simulated",
        },
      },
      "klutch.anynines.com/v1alpha1",
    ),
  );
  const kubeconfig = formatKubeconfig({
    name: "provider",
    server: "https://provider",
    namespace,
    auth: { kind: "token", token: new Secret("none") },
  });
  const texts = { [kubeconfigKey]: kubeconfig };
  await provider.create(secrets, secretObject(namespace, kubeconfigKey, texts));
  // Of two tenants one of each kind.
  const informerScope = (seed + index) % 2 === 0 ? "Cluster" : "Namespaced";
  for (const api of simulatedApis)
    await provider.create(apiServiceExports, exportOf(api, namespace, informerScope));
  for (const one of [consumerNamespace, ...workNamespaces])
    await direct.create(namespaces, object("Namespace", { name: one }));
  for (const crd of bindCrds)
    if (crd.metadata.name.startsWith("apiservicebindings."))
      await direct.create<KubeObject>(customResourceDefinitions, crd);
  const ref = { namespace: consumerNamespace, name: "kubeconfig" };
  await direct.create(secrets, secretObject(ref.namespace, ref.name, texts));
  for (const api of simulatedApis) {
    const permissionClaims = api.claims.map((claim) => ({ ...claim, state: "Accepted" }));
    const spec = { kubeconfigSecretRef: { ...ref, key: kubeconfigKey }, permissionClaims };
    await direct.create(
      apiServiceBindings,
      object(
        "APIServiceBinding",
        { namespace: consumerNamespace, name: api.name },
        { spec },
        "klutch.anynines.com/v1alpha1",
      ),
    );
  }
  const config: ClusterConfig = { name, server: `https://${name}`, auth: { kind: "none" } };
  return { name, consumer, direct, config, namespace };
}
