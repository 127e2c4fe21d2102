/** Bound app clusters as a login and a konnector leave them, made by hand. */
import {
  type APIServiceExportRequest,
  type APIServiceNamespace,
  apiServiceNamespaces,
  binderName,
  clusterBindingName,
  clusterBindings,
  identityAnnotation,
  kubeconfigKey,
  type PermissionClaim,
} from "@klutch/api";
import {
  type Condition,
  findCondition,
  type KubeObject,
  namespaces,
  type ObjectRef,
  serviceAccounts,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { namespaceObject, serviceAccountObject, waitFor } from "@klutch/kube-testing";

const apiVersion = "klutch.anynines.com/v1alpha1";

/** Cluster namespace, account and ClusterBinding. `identity` is whose it is: `<subject>#<cluster id>`. */
export async function createTenant(client: KubeClient, namespace: string, identity?: string): Promise<void> {
  const annotations = identity === undefined ? undefined : { [identityAnnotation]: identity };
  await client.create(namespaces, namespaceObject(namespace, annotations));
  await client.create(serviceAccounts, serviceAccountObject({ namespace, name: binderName }));
  await client.create<KubeObject>(clusterBindings, {
    apiVersion,
    kind: "ClusterBinding",
    metadata: { namespace, name: clusterBindingName },
    spec: {
      kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey },
      providerPrettyName: "Tests",
    },
  });
}

/** Asks for a namespace of the app cluster to be mapped. */
export async function askForNamespace(client: KubeClient, { namespace, name }: ObjectRef): Promise<void> {
  await client.create<APIServiceNamespace>(apiServiceNamespaces, {
    apiVersion,
    kind: "APIServiceNamespace",
    metadata: { namespace, name },
    spec: {},
  });
}

/** The namespace of the provider that it is mapped to; undefined while there is none. */
export async function serviceNamespaceOf(client: KubeClient, ref: ObjectRef): Promise<string | undefined> {
  return (await client.get<APIServiceNamespace>(apiServiceNamespaces, ref)).status?.namespace;
}

/** Has a namespace mapped; gives back its namespace of the provider. */
export async function mapNamespace(client: KubeClient, ref: ObjectRef): Promise<string> {
  await askForNamespace(client, ref);
  return waitFor(`the service namespace of ${ref.name}`, () => serviceNamespaceOf(client, ref));
}

/** A request for `<resource>.example.org`, as a plugin makes it; without claims as an existing one may. */
export function exportRequest(
  { namespace, name }: ObjectRef,
  resource: string,
  permissionClaims?: readonly PermissionClaim[],
): APIServiceExportRequest {
  return {
    apiVersion,
    kind: "APIServiceExportRequest",
    metadata: { namespace, name },
    spec: { resources: [{ group: "example.org", resource, permissionClaims }] },
  };
}

/** `True Reason message` of one condition; what it does not say is empty. */
export function conditionText(conditions: readonly Condition[] | undefined, type: string): string {
  const { status = "", reason = "", message = "" } = findCondition(conditions, type) ?? {};
  return `${status} ${reason} ${message}`;
}
