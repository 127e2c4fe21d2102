/** Finds the namespaces of this tenant and of other tenants. No I/O. */
import { identityAnnotation, readServiceNamespaceOwner, serviceNamespaceAnnotation } from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";
import { mappingOf, type Tenant } from "@klutch/sync";

/** Namespaces that hold this tenant's namespaced objects. */
export interface OwnNamespaces {
  readonly consumer: readonly string[];
  readonly provider: readonly string[];
}

/** Finds them by mapping, and at the provider also by annotation, because a second one may exist. `all` are the provider's namespaces. */
export function ownNamespaces(
  mappings: readonly DynamicObject[],
  all: readonly KubeObject[],
  tenant: Tenant,
): OwnNamespaces {
  const mapped = mappings.flatMap((object) => {
    const mapping = mappingOf(object);
    return mapping.state === "ready"
      ? [[object.metadata.name ?? "", mapping.providerNamespace] as const]
      : [];
  });
  // Read loosely, as the policy for the tenant's account does: a mark that only begins well is still a namespace to look at.
  const annotated = all.filter(({ metadata }) =>
    metadata.annotations?.[serviceNamespaceAnnotation]?.startsWith(`${tenant.namespace}/`),
  );
  const provider = [
    ...mapped.map(([, namespace]) => namespace),
    ...annotated.map(({ metadata }) => metadata.name ?? ""),
  ];
  return { consumer: mapped.map(([namespace]) => namespace), provider: [...new Set(provider)] };
}

/** Lists the provider's namespaces that carry any identity, and those that service namespaces name as their owner. */
export function otherTenants(all: readonly KubeObject[], tenant: Tenant): Tenant[] {
  const owners = new Set(
    all.map(
      ({ metadata }) =>
        readServiceNamespaceOwner(metadata.annotations?.[serviceNamespaceAnnotation])?.clusterNamespace,
    ),
  );
  return all
    .filter(({ metadata: { name = "", annotations } }) => {
      return (
        name !== tenant.namespace && (annotations?.[identityAnnotation] !== undefined || owners.has(name))
      );
    })
    .map(({ metadata }) => ({ namespace: metadata.name ?? "", namespaceUid: metadata.uid ?? "" }));
}
