/** Makes by hand what the backend makes in the control plane for one bound app cluster, so that the agent is tested alone. */
import { readdir, readFile } from "node:fs/promises";
import {
  type APIServiceExportSpec,
  apiServiceExports,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  binderClusterWideName,
  binderName,
  binderRules,
  clusterBindingName,
  clusterBindings,
  exportFromCrd,
  kubeconfigKey,
  type PermissionClaim,
  serviceNamespaceName,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  roleBindings,
  secrets,
  serviceAccounts,
} from "@klutch/kube-core";
import { formatKubeconfig, parseYaml } from "@klutch/kube";
import {
  accountConfig,
  objectOfType,
  roleBindingObject,
  roleObject,
  secretObject,
  type TestCluster,
  untilServed,
} from "@klutch/kube-testing";

/** The cluster namespace. */
export const tenantNamespace = "cluster-test";

/** A permission claim to all Secrets that the provider owns. */
export const providerSecrets: PermissionClaim = {
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { owner: "Provider", names: ["*"], namespaces: ["*"] },
};

/** Applies the shipped CRDs of the bind kinds and waits until they are served. */
export async function installBindCrds(cluster: TestCluster): Promise<void> {
  const folder = new URL("../../../../deploy/crds/", import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.includes("klutch.anynines.com"));
  for (const file of files)
    await installCrd(cluster, parseYaml(await readFile(new URL(file, folder), "utf8")));
}

/** Creates one CRD and waits until it is served. */
export async function installCrd({ client }: TestCluster, crd: unknown): Promise<void> {
  const created = await client.create<KubeObject>(customResourceDefinitions, crd as KubeObject);
  await untilServed(client, created.metadata.name ?? "");
}

/** Makes tenant namespace, account with the shipped rights, ClusterBinding and kubeconfig Secret. Gives back the kubeconfig. */
export async function prepareTenant(
  provider: TestCluster,
  exported: readonly string[],
  tenant: string = tenantNamespace,
): Promise<string> {
  const binder = { namespace: tenant, name: binderName };
  const { client } = provider;
  const create = (type: Parameters<typeof client.create>[0], object: object): Promise<KubeObject> =>
    client.create<KubeObject>(type, object as KubeObject);
  await create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: tenant } });
  await create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: binder });
  if ((await client.find(clusterRoles, { name: binderName })) === undefined)
    await create(clusterRoles, roleObject({ name: binderName }, binderRules));
  await create(
    clusterRoles,
    roleObject({ name: `${binderName}-${tenant}` }, [
      { apiGroups: ["test.klutch.example"], resources: exported, verbs: ["*"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["*"] },
    ]),
  );
  await create(roleBindings, bind(tenant, tenant, binderName));
  await create(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace: tenant, name: clusterBindingName },
    spec: { kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey }, providerPrettyName: "Test" },
  });
  const kubeconfig = await freshKubeconfig(provider, tenant);
  await create(secrets, secretObject(tenant, kubeconfigKey, { [kubeconfigKey]: kubeconfig }));
  return kubeconfig;
}

/** A kubeconfig of the tenant with a new token. */
export async function freshKubeconfig(
  provider: TestCluster,
  namespace: string = tenantNamespace,
): Promise<string> {
  const config = await accountConfig(provider, { namespace, name: binderName });
  return formatKubeconfig({ ...config, name: "provider", namespace });
}

/** Gives the tenant rights on all kinds of tests and on the usual claimed ones, in its namespaces. */
export async function grantUsualClaims({ client }: TestCluster): Promise<void> {
  const rules = [
    { apiGroups: ["test.klutch.example"], resources: ["*"], verbs: ["*"] },
    { apiGroups: [""], resources: ["secrets", "configmaps", "events"], verbs: ["*"] },
  ];
  await client.mergePatch(clusterRoles, { name: `${binderName}-${tenantNamespace}` }, { rules });
}

/** Gives the tenant rights in the whole provider cluster, as consumer scope Cluster does: never on kinds of Kubernetes itself. */
export async function grantClusterWide({ client }: TestCluster): Promise<void> {
  const name = binderClusterWideName(tenantNamespace);
  const rules = [{ apiGroups: ["test.klutch.example"], resources: ["*"], verbs: ["*"] }];
  await client.create(clusterRoles, roleObject({ name }, rules));
  await client.create(clusterRoleBindings, bind(tenantNamespace, undefined, name));
}

/** Exports a CRD to the tenant. */
export async function exportCrd(
  { client }: TestCluster,
  crd: KubeObject,
  extra: Partial<APIServiceExportSpec> = {},
  claims: readonly PermissionClaim[] = [],
  tenant: string = tenantNamespace,
): Promise<void> {
  const { spec } = exportFromCrd(crd);
  await client.create<KubeObject>(apiServiceExports, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace: tenant, name: crd.metadata.name },
    spec: { ...spec, informerScope: "Namespaced", permissionClaims: claims, ...extra },
  });
}

/** Answers APIServiceNamespaces as the backend's controller does, until the signal aborts; deletes the namespace when they go. */
export async function serveNamespaces({ client }: TestCluster, signal: AbortSignal): Promise<void> {
  const scope = { signal };
  try {
    const { items, resourceVersion } = await client.list<DynamicObject>(apiServiceNamespaces, scope);
    for (const item of items) await serveOne(client, item);
    for await (const event of client.watch<DynamicObject>(apiServiceNamespaces, {
      ...scope,
      resourceVersion,
    })) {
      if (event.type === "ADDED") await serveOne(client, event.object);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function serveOne(client: TestCluster["client"], { metadata }: DynamicObject): Promise<void> {
  const { namespace: tenant = "" } = metadata;
  const name = serviceNamespaceName(tenant, metadata.name ?? "");
  if ((await client.find(namespaces, { name })) === undefined) {
    await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const binding = bind(tenant, name, `${binderName}-${tenant}`);
  const bindingRef = { namespace: name, name: binding.metadata.name ?? "" };
  if ((await client.find(roleBindings, bindingRef)) === undefined) await client.create(roleBindings, binding);
  const ref = { namespace: tenant, name: metadata.name ?? "" };
  await client.mergePatch(
    apiServiceNamespaces,
    ref,
    { status: { namespace: name } },
    { subresource: "status" },
  );
}

function bind(tenant: string, namespace: string | undefined, name: string): DynamicObject {
  const account = { namespace: tenant, name: binderName };
  return roleBindingObject({ namespace, name: binderName }, { kind: "ClusterRole", name }, account);
}

/** Offers an API to app clusters: a backend gives rights only on what a template offers. */
export async function offer(
  { client }: TestCluster,
  { group, plural }: ResourceType,
  permissionClaims?: readonly PermissionClaim[],
): Promise<void> {
  const spec = { APIServiceSelector: { group, resource: plural }, permissionClaims };
  const template = { name: plural, namespace: "default" };
  await client.create(apiServiceExportTemplates, objectOfType(apiServiceExportTemplates, template, { spec }));
}
