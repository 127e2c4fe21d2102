/** The place of an AppClusterBinding in the provider cluster: namespace, account, ClusterBinding and the konnector's rights. */
import {
  appClusterBindingAnnotation,
  binderName,
  clusterBindingName,
  clusterBindings,
  clusterNameAnnotation,
  connectorRoleName,
  controlPlaneConnectorRules,
  kubeconfigKey,
} from "@klutch/api";
import {
  falseCondition,
  type KubeObject,
  namespaces,
  type NewCondition,
  roleBindings,
  roles,
  serviceAccounts,
  trueCondition,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { ensure } from "../apply.ts";
import { podSecurity } from "../pod-security.ts";
import type { Step } from "./context.ts";
import type { Owner } from "./names.ts";

const group = "rbac.authorization.k8s.io";

/** Condition of the root namespace. */
export const namespaceReady = "NamespaceReady";

/** Returns true if the namespace carries our mark: nothing else proves that it is ours. */
export function isOurs(namespace: KubeObject, owner: Owner): boolean {
  return namespace.metadata.annotations?.[appClusterBindingAnnotation] === owner.key;
}

/** Creates the namespace unless it exists; refuses a foreign namespace. */
export async function ensureNamespace(client: KubeClient, owner: Owner, step: Step): Promise<NewCondition> {
  const { root: name, labels, annotations } = owner;
  const present = await client.find(namespaces, { name }, step);
  if (present === undefined) {
    const object: KubeObject = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: { ...labels, ...podSecurity }, annotations },
    };
    await client.create(namespaces, object, step);
    return trueCondition(namespaceReady);
  }
  if (!isOurs(present, owner)) {
    return falseCondition(
      namespaceReady,
      "NamespaceNotOwned",
      "Error",
      `Namespace ${name} exists and does not belong to this AppClusterBinding. Delete it, or annotate it with ` +
        `${appClusterBindingAnnotation}=${owner.key} to let this AppClusterBinding take it over`,
    );
  }
  if (present.metadata.deletionTimestamp !== undefined) {
    const message = `Namespace ${name} is being deleted. It is created again afterwards`;
    return falseCondition(namespaceReady, "NamespaceTerminating", "Info", message);
  }
  return trueCondition(namespaceReady);
}

/** Creates the objects that a konnector needs in the root namespace. */
export async function ensureNamespaceResources(client: KubeClient, owner: Owner, step: Step): Promise<void> {
  const { root: namespace, labels, annotations, object } = owner;
  const metadata = (name: string): KubeObject["metadata"] => ({ namespace, name, labels, annotations });
  await ensure(
    client,
    serviceAccounts,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(binderName) },
    step,
  );
  await ensure(
    client,
    clusterBindings,
    {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "ClusterBinding",
      metadata: {
        ...metadata(clusterBindingName),
        annotations: { ...annotations, [clusterNameAnnotation]: owner.key },
      },
      spec: {
        kubeconfigSecretRef: { name: object.spec.kubeconfigSecretRef.name, key: kubeconfigKey },
        providerPrettyName: object.metadata.name ?? "",
      },
    },
    step,
  );
  const role = {
    apiVersion: `${group}/v1`,
    kind: "Role",
    metadata: metadata(connectorRoleName),
    rules: controlPlaneConnectorRules,
  };
  await ensure(client, roles, role, step);
  const roleBinding = {
    apiVersion: `${group}/v1`,
    kind: "RoleBinding",
    metadata: metadata(connectorRoleName),
    roleRef: { apiGroup: group, kind: "Role", name: connectorRoleName },
    subjects: [{ kind: "ServiceAccount", name: binderName, namespace }],
  };
  await ensure(client, roleBindings, roleBinding, step);
}
