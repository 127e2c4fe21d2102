/** Which namespaces are this tenant's, and which tenants there are beside it. No I/O. */
import { identityAnnotation, serviceNamespaceAnnotation } from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";
import { mappingOf, type Tenant } from "@klutch/sync";

/** Where this tenant's namespaced objects stand. */
export interface OwnNamespaces {
  readonly consumer: readonly string[];
  readonly provider: readonly string[];
}

/** By mapping, and at the provider by annotation as well: there may be a second one. `all` are the provider's namespaces. */
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
  const annotated = all.filter(({ metadata }) =>
    metadata.annotations?.[serviceNamespaceAnnotation]?.startsWith(`${tenant.namespace}/`),
  );
  const provider = [
    ...mapped.map(([, namespace]) => namespace),
    ...annotated.map(({ metadata }) => metadata.name ?? ""),
  ];
  return { consumer: mapped.map(([namespace]) => namespace), provider: [...new Set(provider)] };
}

/** Namespaces of the provider with somebody's identity, and those that service namespaces name as their owner. */
export function otherTenants(all: readonly KubeObject[], tenant: Tenant): Tenant[] {
  const owners = new Set(
    all.map(({ metadata }) => (metadata.annotations?.[serviceNamespaceAnnotation] ?? "").split("/")[0]),
  );
  return all
    .filter(({ metadata: { name = "", annotations } }) => {
      return (
        name !== tenant.namespace && (annotations?.[identityAnnotation] !== undefined || owners.has(name))
      );
    })
    .map(({ metadata }) => ({ namespace: metadata.name ?? "", namespaceUid: metadata.uid ?? "" }));
}
