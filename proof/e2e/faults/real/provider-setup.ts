/** What plugin and backend would have made in both clusters for one bound API with a claim on Secrets, made by hand. */
import {
  type APIServiceBinding,
  apiServiceBindings,
  type APIServiceExport,
  apiServiceExports,
  apiServiceNamespaces,
  bindCrds,
  binderName,
  binderRules,
  bindingRoleManifests,
  bindingRoleName,
  bindingRules,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  crdNameOf,
  exportFromCrd,
  exportRules,
  konnectorManifests,
  kubeconfigKey,
  type PermissionClaim,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
  serviceNamespaceOwner,
} from "@klutch/api";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  roleBindings,
  secrets,
  serviceAccounts,
  textAt,
} from "@klutch/kube-core";
import { type ClusterConfig, formatKubeconfig, type KubeClient, serviceAccountToken } from "@klutch/kube";
import {
  anyObject,
  crdObject,
  installRights,
  roleBindingObject,
  roleObject,
  secretObject,
  untilServed,
} from "@klutch/kube-testing";
import { claimNamespaces } from "./plan.ts";

/** The cluster namespace of the app cluster. */
export const clusterNamespace = "cluster-faults";
/** Of the provider, for deletions that take their time. */
export const slowFinalizer = "faults.klutch.example/slow";
/** So long a kind may take until it is served. */
export const servedWithin = { timeoutMs: 60_000 };
/** The bound resource. */
export const widgets: ResourceType = {
  group: "faults.klutch.example",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};
/** Name of its CRD, export and binding. */
export const widgetsName = "widgets.faults.klutch.example";

const binder = { namespace: clusterNamespace, name: binderName };
const tenantRole = `${binderName}-${clusterNamespace}`;
const widgetCrd = crdObject(widgets, { properties: { spec: anyObject, status: anyObject }, hasStatus: true });
const secretsClaim: PermissionClaim = {
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { names: ["*"], namespaces: ["*"], owner: "Provider" },
};
const exported: Pick<APIServiceExport, "spec"> = {
  spec: { ...exportFromCrd(widgetCrd).spec, informerScope: "Namespaced", permissionClaims: [secretsClaim] },
};

/** Everything of the provider, with the rights that are shipped. `seenFrom` is how the agents reach it. */
export async function setUpProvider(client: KubeClient, seenFrom: ClusterConfig): Promise<string> {
  const create = createWith(client);
  for (const crd of [...bindCrds, widgetCrd]) await create(customResourceDefinitions, crd);
  await create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: clusterNamespace } });
  await create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: binder });
  await create(clusterRoles, roleObject({ name: binderName }, binderRules));
  await create(clusterRoles, roleObject({ name: tenantRole }, exportRules([exported])));
  await create(roleBindings, bind(clusterNamespace, binderName));
  const { token } = await serviceAccountToken(client, binder, { expirationSeconds: 24 * 3600 });
  const kubeconfig = formatKubeconfig({
    ...seenFrom,
    name: "provider",
    namespace: clusterNamespace,
    auth: { kind: "token", token },
  });
  await create(secrets, secretObject(clusterNamespace, kubeconfigKey, { [kubeconfigKey]: kubeconfig }));
  for (const { group, plural } of [clusterBindings, apiServiceExports, apiServiceNamespaces, widgets])
    await untilServed(client, crdNameOf({ group, resource: plural }), servedWithin);
  await create(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace: clusterNamespace, name: clusterBindingName },
    spec: { kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey }, providerPrettyName: "Faults" },
  });
  await create(apiServiceExports, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace: clusterNamespace, name: widgetsName },
    ...exported,
  });
  return kubeconfig;
}

/** Everything of the app cluster but the agent's process. */
export async function setUpConsumer(client: KubeClient, kubeconfig: string): Promise<void> {
  const create = createWith(client);
  for (const crd of bindCrds) {
    if (crd.metadata.name.startsWith("apiservicebindings.")) await create(customResourceDefinitions, crd);
  }
  for (const name of claimNamespaces) {
    await create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const group = { group: widgets.group, resource: widgets.plural };
  await installRights(client, [
    ...konnectorManifests({ image: "none" }),
    ...bindingRoleManifests(bindingRoleName(widgetsName), bindingRules(group, [secretsClaim])),
  ]);
  await create(secrets, secretObject(consumerNamespace, kubeconfigKey, { [kubeconfigKey]: kubeconfig }));
  const { group: bindings, plural } = apiServiceBindings;
  await untilServed(client, crdNameOf({ group: bindings, resource: plural }), servedWithin);
  const binding: APIServiceBinding = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { namespace: consumerNamespace, name: widgetsName },
    spec: {
      kubeconfigSecretRef: { namespace: consumerNamespace, name: kubeconfigKey, key: kubeconfigKey },
      permissionClaims: [{ ...secretsClaim, state: "Accepted" }],
    },
  };
  await create(apiServiceBindings, binding);
}

/** Answers APIServiceNamespaces that have no answer yet, as the backend's controller does. Throws what the server throws. */
export async function answerNamespaces(client: KubeClient): Promise<void> {
  const { items } = await client.list<DynamicObject>(apiServiceNamespaces, { namespace: clusterNamespace });
  for (const { metadata, status } of items) {
    if (textAt(status, "namespace") !== undefined) continue;
    const own = metadata.name ?? "";
    const name = serviceNamespaceName(clusterNamespace, own);
    const annotations = { [serviceNamespaceAnnotation]: serviceNamespaceOwner(clusterNamespace, own) };
    if ((await client.find(namespaces, { name })) === undefined) {
      await client.create(namespaces, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, annotations },
      });
    }
    if ((await client.find(roleBindings, { namespace: name, name: binderName })) === undefined) {
      await client.create(roleBindings, bind(name, tenantRole));
    }
    const ref = { namespace: clusterNamespace, name: own };
    const patch = { status: { namespace: name } };
    await client.mergePatch(apiServiceNamespaces, ref, patch, { subresource: "status" });
  }
}

type Create = (type: ResourceType, object: KubeObject) => Promise<void>;

function createWith(client: KubeClient): Create {
  return async (type, object) => void (await client.create(type, object));
}

function bind(namespace: string, name: string): DynamicObject {
  return roleBindingObject({ namespace, name: binderName }, { kind: "ClusterRole", name }, binder);
}
