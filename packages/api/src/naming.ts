/** Derives the names on one side from those on the other. docs/reference/names.md lists them. */
import { boundedName, isDnsLabel } from "@klutch/kube-core";
import { base62Hash } from "./hash.ts";

/** `<plural>.<group>`: name of the CRD, the export and the binding of a resource. */
export function crdNameOf(resource: {
  readonly resource: string;
  readonly group?: string | undefined;
}): string {
  return resource.group === undefined || resource.group === ""
    ? resource.resource
    : `${resource.resource}.${resource.group}`;
}

/** The resource with this CRD name; the inverse of `crdNameOf`. Whether such a resource can exist is not checked. */
export function resourceNamed(crdName: string): { readonly resource: string; readonly group: string } {
  const [resource = "", ...group] = crdName.split(".");
  return { resource, group: group.join(".") };
}

/**
 * Namespace of the provider that mirrors `consumerNamespace`. Names longer than 63 characters get a hashed tail; that a name
 * belongs to this tenant is proven by the namespace's annotation, never by the name alone.
 */
export function serviceNamespaceName(clusterNamespace: string, consumerNamespace: string): string {
  return boundedName(`${clusterNamespace}-${consumerNamespace}`);
}

/** Value of the annotation that says whose a service namespace is. */
export function serviceNamespaceOwner(clusterNamespace: string, consumerNamespace: string): string {
  return `${clusterNamespace}/${consumerNamespace}`;
}

/** Reads the value of that annotation; undefined unless it is two names of namespaces with a slash between them. */
export function readServiceNamespaceOwner(
  owner: string | undefined,
): { readonly clusterNamespace: string; readonly consumerNamespace: string } | undefined {
  const [clusterNamespace = "", consumerNamespace = "", ...rest] = (owner ?? "").split("/");
  if (rest.length > 0 || !isDnsLabel(clusterNamespace) || !isDnsLabel(consumerNamespace)) return undefined;
  return { clusterNamespace, consumerNamespace };
}

/** Name on the provider of a cluster-scoped object under isolation `Prefixed`. */
export function prefixedName(clusterNamespace: string, name: string): string {
  return boundedName(`${clusterNamespace}-${name}`, 253);
}

/** Identity of an app cluster in the login: from the UID of its namespace `klutch-bind`. */
export function clusterIdOf(namespaceUid: string): string {
  return base62Hash(namespaceUid).slice(0, 6);
}

/**
 * Splits the value of the identity annotation, `<subject>#<cluster id>`. A cluster id has no `#`, a subject may have several. Without any, there is
 * no subject.
 */
export function splitIdentity(identity: string): { readonly subject: string; readonly clusterId: string } {
  const end = identity.lastIndexOf("#");
  return { subject: identity.slice(0, Math.max(0, end)), clusterId: identity.slice(end + 1) };
}

/** Name of the role and role binding of one bound API in the app cluster. */
export function bindingRoleName(bindingName: string): string {
  return `klutch-bind-konnector:${bindingName}`;
}

/** Name of the ClusterRole that gives people of the app cluster rights on the claims of one bound API; `level` is `view` or `edit`. */
export function userRoleName(bindingName: string, level: string): string {
  return `klutch-bind:${bindingName}:${level}`;
}

/** Name of the ClusterRole with a tenant's rights on exported kinds. */
export function binderClusterRoleName(clusterNamespace: string): string {
  return `klutch-binder-${clusterNamespace}`;
}

/** Name of the ClusterRole and ClusterRoleBinding with what a tenant may do in the whole cluster. No namespace has a colon in its name. */
export function binderClusterWideName(clusterNamespace: string): string {
  return `${binderClusterRoleName(clusterNamespace)}:cluster-wide`;
}
