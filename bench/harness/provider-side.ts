/**
 * What the backend would have made in the control plane for one bound app cluster, made by hand, so that a benchmark measures
 * the agent alone: cluster namespace, binder account with its rights, kubeconfig, ClusterBinding, export, service namespaces.
 */
import {
  apiServiceExports,
  apiServiceNamespaces,
  binderName,
  clusterBindingName,
  clusterBindings,
  clusterRoleBindings,
  exportFromCrd,
  kubeconfigKey,
  namespaces,
  secrets,
  serviceAccounts,
  serviceNamespaceName,
} from "@klutch/api";
import {
  type ClusterConfig,
  type DynamicObject,
  formatKubeconfig,
  type KubeClient,
  type KubeObject,
  serviceAccountToken,
} from "@klutch/kube";
import { widgetCrd } from "./widget.ts";

/** The cluster namespace of the benchmark's app cluster. */
export const clusterNamespace = "cluster-bench";

/** Makes everything and gives back the kubeconfig text of the binder account. */
export async function prepareProvider(client: KubeClient, config: ClusterConfig): Promise<string> {
  await client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: clusterNamespace },
  });
  const account = { namespace: clusterNamespace, name: binderName };
  await client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: account });
  await client.create<DynamicObject>(clusterRoleBindings, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "bench-binder" },
    // The benchmark measures the agent, not RBAC; the e2e tests run with the shipped rights.
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", ...account }],
  });
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: 24 * 3600 });
  const kubeconfig = formatKubeconfig({
    ...config,
    name: "provider",
    namespace: clusterNamespace,
    auth: { kind: "token", token },
  });
  await createKubeconfigSecret(client, clusterNamespace, kubeconfig);
  await client.create<KubeObject>(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace: clusterNamespace, name: clusterBindingName },
    spec: { kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey }, providerPrettyName: "bench" },
  });
  const spec = exportFromCrd(widgetCrd).spec;
  await client.create<KubeObject>(apiServiceExports, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace: clusterNamespace, name: widgetCrd.metadata.name },
    spec: { ...spec, informerScope: "Cluster" },
  });
  return kubeconfig;
}

/** Answers an APIServiceNamespace as the backend's controller does: makes the namespace and fills the status. */
export async function serveNamespace(client: KubeClient, consumerNamespace: string): Promise<string> {
  const name = serviceNamespaceName(clusterNamespace, consumerNamespace);
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const mapping = { namespace: clusterNamespace, name: consumerNamespace };
  await client.create<KubeObject>(apiServiceNamespaces, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: mapping,
    spec: {},
  });
  await client.mergePatch(
    apiServiceNamespaces,
    mapping,
    { status: { namespace: name } },
    { subresource: "status" },
  );
  return name;
}

/** A Secret as the konnector expects it. */
export async function createKubeconfigSecret(
  client: KubeClient,
  namespace: string,
  kubeconfig: string,
): Promise<void> {
  await client.create<DynamicObject>(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: kubeconfigKey },
    data: { [kubeconfigKey]: Buffer.from(kubeconfig).toString("base64") },
  });
}
