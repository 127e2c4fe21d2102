/** Ordinary accounts for the parties of a benchmark: an administrator's requests would bypass the API server's fairness. */
import {
  clusterRoleBindings,
  type KubeObject,
  type ObjectRef,
  type ResourceType,
  serviceAccounts,
} from "@klutch/kube-core";
import { type ClusterConfig, type KubeClient, serviceAccountToken } from "@klutch/kube";
import { roleBindingObject } from "@klutch/kube-testing";
import { agentFlowSchema } from "./calls.ts";

const flowSchemas: ResourceType = {
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  plural: "flowschemas",
  kind: "FlowSchema",
  namespaced: false,
};

/**
 * Makes a service account that may do everything, and gives back how to log in as it. The benchmark measures the agent, not RBAC;
 * the e2e tests run with the shipped rights.
 */
export async function createAccount(
  client: KubeClient,
  config: ClusterConfig,
  account: ObjectRef & { readonly namespace: string },
): Promise<ClusterConfig> {
  await client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: account });
  const own = { name: `bench-${account.name}` };
  const everything = { kind: "ClusterRole", name: "cluster-admin" } as const;
  await client.create(clusterRoleBindings, roleBindingObject(own, everything, account));
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: 24 * 3600 });
  return { ...config, namespace: account.namespace, auth: { kind: "token", token } };
}

/**
 * Lets the server count the account's requests apart. Priority and fairness stay those of any service account: the same level and
 * the same flows as its own FlowSchema `service-accounts`.
 */
export async function countApart(
  client: KubeClient,
  account: ObjectRef & { readonly namespace: string },
): Promise<void> {
  const all = ["*"];
  await client.create<KubeObject>(flowSchemas, {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "FlowSchema",
    metadata: { name: agentFlowSchema },
    spec: {
      priorityLevelConfiguration: { name: "workload-low" },
      matchingPrecedence: 500,
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [
            {
              kind: "ServiceAccount",
              serviceAccount: { namespace: account.namespace, name: account.name },
            },
          ],
          resourceRules: [
            { verbs: all, apiGroups: all, resources: all, clusterScope: true, namespaces: all },
          ],
          nonResourceRules: [{ verbs: all, nonResourceURLs: all }],
        },
      ],
    },
  });
}
