/** Ordinary accounts for the parties of a benchmark: an administrator's requests would bypass the API server's fairness. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clusterRoleBindings, type ObjectRef, type ResourceType, serviceAccounts } from "@klutch/kube-core";
import { type ClusterConfig, formatKubeconfig, type KubeClient, serviceAccountToken } from "@klutch/kube";
import {
  objectOfType,
  roleBindingObject,
  serviceAccountObject,
  type TestCluster,
} from "@klutch/kube-testing";
import { agentFlowSchema } from "./calls.ts";

const flowSchemas: ResourceType = {
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  plural: "flowschemas",
  kind: "FlowSchema",
  namespaced: false,
};

type Account = ObjectRef & { readonly namespace: string };

/**
 * Makes a service account that may do everything, and gives back how to log in as it. The benchmark measures the agent, not RBAC;
 * the e2e tests run with the shipped rights.
 */
export async function createAccount(
  client: KubeClient,
  config: ClusterConfig,
  account: Account,
): Promise<ClusterConfig> {
  await client.create(serviceAccounts, serviceAccountObject(account));
  const own = { name: `bench-${account.name}` };
  const everything = { kind: "ClusterRole", name: "cluster-admin" } as const;
  await client.create(clusterRoleBindings, roleBindingObject(own, everything, account));
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: 24 * 3600 });
  return { ...config, namespace: account.namespace, auth: { kind: "token", token } };
}

/**
 * Does the same, and lets the server count the account's requests apart. Priority and fairness stay those of any service account: the
 * same level and the same flows as its own FlowSchema `service-accounts`.
 */
export async function createCountedAccount(
  client: KubeClient,
  config: ClusterConfig,
  account: Account,
): Promise<ClusterConfig> {
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
  const created = await createAccount(client, config, account);
  await client.create(flowSchemas, objectOfType(flowSchemas, { name: agentFlowSchema }, { spec }));
  return created;
}

/** Writes a kubeconfig of such an account into `folder`; returns its path. */
export async function countedKubeconfig(
  { client, config }: TestCluster,
  account: Account,
  folder: string,
): Promise<string> {
  const path = join(folder, `${account.name}.kubeconfig`);
  const text = formatKubeconfig(await createCountedAccount(client, config, account));
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
