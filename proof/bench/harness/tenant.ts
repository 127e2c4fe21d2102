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
import {
  clusterRoleBindings,
  namespaces,
  type ObjectRef,
  type ResourceType,
  secrets,
  serviceAccounts,
  textAt,
} from "@klutch/kube-core";
import { type ClusterConfig, formatKubeconfig, isAlreadyExists, type KubeClient } from "@klutch/kube";
import {
  accountConfig,
  installKinds,
  namespaceObject,
  objectOfType,
  roleBindingObject,
  secretObject,
  serviceAccountObject,
  type TestCluster,
} from "@klutch/kube-testing";
import type { BenchApi } from "./api.ts";
import { startFollowing } from "./stopwatch.ts";
import type { WidgetKind } from "./widget.ts";
import { agentFlowSchema } from "./calls.ts";

/** The cluster namespace of the benchmark's app cluster. */
export const clusterNamespace = "cluster-bench";

/** Makes the tenant on the provider, and gives its kubeconfig to both sides. */
export async function prepareTenant(
  { client: provider, config }: Pick<TestCluster, "client" | "config">,
  consumer: KubeClient,
): Promise<void> {
  await provider.create(namespaces, namespaceObject(clusterNamespace));
  const account = { namespace: clusterNamespace, name: binderName };
  const texts = { [kubeconfigKey]: await countedKubeconfig({ client: provider, config }, account) };
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
  const answers: Promise<void>[] = [];
  const watch = await startFollowing(client, apiServiceNamespaces, {
    namespace: clusterNamespace,
    onChange(kind, { metadata, status }) {
      if (kind === "ADDED" && textAt(status, "namespace") === undefined)
        answers.push(serve(api, metadata.name ?? ""));
    },
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

const flowSchemas: ResourceType = {
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  plural: "flowschemas",
  kind: "FlowSchema",
  namespaced: false,
};

type Account = ObjectRef & { readonly namespace: string };
type Cluster = Pick<TestCluster, "client" | "config">;

/**
 * Makes a service account that may do everything, and gives back how to log in as it. The benchmark measures the agent, not RBAC;
 * the e2e tests run with the shipped rights.
 */
export async function createAccount(cluster: Cluster, account: Account): Promise<ClusterConfig> {
  await cluster.client.create(serviceAccounts, serviceAccountObject(account));
  const everything = { kind: "ClusterRole", name: "cluster-admin" } as const;
  const binding = roleBindingObject({ name: `bench-${account.name}` }, everything, account);
  await cluster.client.create(clusterRoleBindings, binding);
  return { ...(await accountConfig(cluster, account)), namespace: account.namespace };
}

/**
 * Does the same, lets the server count the account's requests apart, and returns its kubeconfig. Priority and fairness stay those of any
 * service account: the same level and the same flows as its own FlowSchema `service-accounts`.
 */
export async function countedKubeconfig(cluster: Cluster, account: Account): Promise<string> {
  const all = ["*"];
  const rule = {
    subjects: [{ kind: "ServiceAccount", serviceAccount: account }],
    resourceRules: [{ verbs: all, apiGroups: all, resources: all, clusterScope: true, namespaces: all }],
    nonResourceRules: [{ verbs: all, nonResourceURLs: all }],
  };
  const spec = {
    priorityLevelConfiguration: { name: "workload-low" },
    matchingPrecedence: 500,
    distinguisherMethod: { type: "ByUser" },
    rules: [rule],
  };
  await cluster.client.create(flowSchemas, objectOfType(flowSchemas, { name: agentFlowSchema }, { spec }));
  return formatKubeconfig(await createAccount(cluster, account));
}
