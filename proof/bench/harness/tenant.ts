/**
 * Makes the objects that the backend and the plugin would make for one bound app cluster, so that a benchmark measures the agent alone:
 * cluster namespace, accounts with their rights, kubeconfig, ClusterBinding, exports and bindings, and the answers to namespaces.
 */
import {
  apiServiceBindings,
  apiServiceExports,
  apiServiceNamespaces,
  binderName,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  exportFromCrd,
  type InformerScope,
  kubeconfigKey,
  type PermissionClaim,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
  serviceNamespaceOwner,
} from "@klutch/api";
import { namespaces, secrets, textAt } from "@klutch/kube-core";
import { type ClusterConfig, formatKubeconfig, isAlreadyExists, type KubeClient } from "@klutch/kube";
import { installKinds, namespaceObject, objectOfType, secretObject } from "@klutch/kube-testing";
import { createCountedAccount } from "./accounts.ts";
import type { BenchApi } from "./api.ts";
import { followObjects } from "./stopwatch.ts";
import type { WidgetKind } from "./widget.ts";

/** The cluster namespace of the benchmark's app cluster. */
export const clusterNamespace = "cluster-bench";

/** Makes the tenant on the provider, and gives its kubeconfig to both sides. */
export async function prepareTenant(
  provider: KubeClient,
  config: ClusterConfig,
  consumer: KubeClient,
): Promise<void> {
  await provider.create(namespaces, namespaceObject(clusterNamespace));
  const account = { namespace: clusterNamespace, name: binderName };
  const binder = await createCountedAccount(provider, config, account);
  const texts = { [kubeconfigKey]: formatKubeconfig({ ...binder, name: "provider" }) };
  await provider.create(secrets, secretObject(clusterNamespace, kubeconfigKey, texts));
  await consumer.create(secrets, secretObject(consumerNamespace, kubeconfigKey, texts));
  const ref = { name: kubeconfigKey, key: kubeconfigKey };
  const spec = { kubeconfigSecretRef: ref, providerPrettyName: "bench" };
  const metadata = { namespace: clusterNamespace, name: clusterBindingName };
  await provider.create(clusterBindings, objectOfType(clusterBindings, metadata, { spec }));
}

/** Settings of the exports. */
export interface ExportOptions {
  /** Default Cluster. */
  readonly informerScope?: InformerScope | undefined;
  /** Default none. */
  readonly permissionClaims?: readonly PermissionClaim[] | undefined;
}

/** Offers a kind to the app cluster, and binds it there. */
export async function bindKind(
  provider: KubeClient,
  consumer: KubeClient,
  { crd, crdName: name }: WidgetKind,
  { informerScope = "Cluster", permissionClaims = [] }: ExportOptions,
): Promise<void> {
  // An export of a kind that is not served yet would only make the agent wait for its own back-off.
  await installKinds(provider, [crd]);
  const claims = permissionClaims.length === 0 ? {} : { permissionClaims };
  const offered = { spec: { ...exportFromCrd(crd).spec, informerScope, ...claims } };
  const exported = objectOfType(apiServiceExports, { namespace: clusterNamespace, name }, offered);
  await provider.create(apiServiceExports, exported);
  const spec = {
    kubeconfigSecretRef: { namespace: consumerNamespace, name: kubeconfigKey, key: kubeconfigKey },
    permissionClaims: permissionClaims.map((claim) => ({ ...claim, state: "Accepted" })),
  };
  const binding = objectOfType(apiServiceBindings, { namespace: consumerNamespace, name }, { spec });
  await consumer.create(apiServiceBindings, binding);
}

/** Answers APIServiceNamespaces as the backend's controller does, until it is disposed; deletions are not answered. */
export async function startNamespaceResponder(client: KubeClient, api: BenchApi): Promise<AsyncDisposable> {
  const answers = new Set<Promise<void>>();
  const scope = { namespace: clusterNamespace };
  const watch = await followObjects(client, apiServiceNamespaces, scope, (kind, { metadata, status }) => {
    if (kind !== "ADDED" || textAt(status, "namespace") !== undefined) return;
    const answering = serve(api, metadata.name ?? "").finally(() => answers.delete(answering));
    answers.add(answering);
  });
  return {
    async [Symbol.asyncDispose]() {
      await watch[Symbol.asyncDispose]();
      await Promise.all(answers);
    },
  };
}

async function serve(api: BenchApi, name: string): Promise<void> {
  const mirror = serviceNamespaceName(clusterNamespace, name);
  const annotations = { [serviceNamespaceAnnotation]: serviceNamespaceOwner(clusterNamespace, name) };
  await api.create(namespaces, namespaceObject(mirror, annotations)).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  const status = { namespace: mirror };
  await api.patch(apiServiceNamespaces, { namespace: clusterNamespace, name }, { status }, "status");
}
