/**
 * What the backend would have made in the control plane for one bound app cluster, made by hand, so that a benchmark measures
 * the agent alone: cluster namespace, binder account with its rights, kubeconfig, ClusterBinding, exports.
 */
import {
  apiServiceExports,
  binderName,
  clusterBindingName,
  clusterBindings,
  exportFromCrd,
  type InformerScope,
  kubeconfigKey,
  type PermissionClaim,
} from "@klutch/api";
import { type KubeObject, namespaces, secrets } from "@klutch/kube-core";
import { type ClusterConfig, formatKubeconfig, type KubeClient } from "@klutch/kube";
import { secretObject } from "@klutch/kube-testing";
import { countApart, createAccount } from "./accounts.ts";
import type { WidgetKind } from "./widget.ts";

/** The cluster namespace of the benchmark's app cluster. */
export const clusterNamespace = "cluster-bench";

/** Makes everything but the exports and gives back the kubeconfig text of the binder account. */
export async function prepareProvider(client: KubeClient, config: ClusterConfig): Promise<string> {
  await client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: clusterNamespace },
  });
  const account = { namespace: clusterNamespace, name: binderName };
  const binder = await createAccount(client, config, account);
  await countApart(client, account);
  const kubeconfig = formatKubeconfig({ ...binder, name: "provider" });
  await createKubeconfigSecret(client, clusterNamespace, kubeconfig);
  await client.create<KubeObject>(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace: clusterNamespace, name: clusterBindingName },
    spec: { kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey }, providerPrettyName: "bench" },
  });
  return kubeconfig;
}

/** How kinds are offered. */
export interface ExportOptions {
  readonly informerScope: InformerScope;
  readonly permissionClaims: readonly PermissionClaim[];
}

/** Offers a kind to the app cluster. */
export async function exportKind(
  client: KubeClient,
  { crd, crdName }: WidgetKind,
  { informerScope, permissionClaims }: ExportOptions,
): Promise<void> {
  await client.create<KubeObject>(apiServiceExports, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace: clusterNamespace, name: crdName },
    spec: {
      ...exportFromCrd(crd).spec,
      informerScope,
      ...(permissionClaims.length === 0 ? {} : { permissionClaims }),
    },
  });
}

/** A Secret as the konnector expects it. */
export async function createKubeconfigSecret(
  client: KubeClient,
  namespace: string,
  kubeconfig: string,
): Promise<void> {
  await client.create(secrets, secretObject(namespace, kubeconfigKey, { [kubeconfigKey]: kubeconfig }));
}
