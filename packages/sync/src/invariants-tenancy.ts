/** That no tenant's objects stand in another's namespaces, and that no two consumer namespaces share one of the provider. */
import {
  claimedFromLabel,
  clusterNamespaceAnnotation,
  serviceNamespaceAnnotation,
  serviceNamespaceOwner,
} from "@klutch/api";
import { type DynamicObject, keyOf } from "@klutch/kube-core";
import type { Places } from "./invariants-places.ts";
import type { InvariantSnapshot, Violation } from "./invariants-snapshot.ts";
import { mappingOf } from "./namespaces.ts";

/** Two namespaces of the consumer on one of the provider: their objects would meet. */
export function checkMappings({ provider }: InvariantSnapshot): readonly Violation[] {
  const seen = new Map<string, string>();
  return provider.apiServiceNamespaces.flatMap((object): Violation[] => {
    const mapping = mappingOf(object);
    if (mapping.state !== "ready") return [];
    const { name = "" } = object.metadata;
    const other = seen.get(mapping.providerNamespace);
    seen.set(mapping.providerNamespace, name);
    if (other === undefined) return [];
    return [
      {
        invariant: "OneToOne",
        object: `apiservicenamespaces.klutch.anynines.com ${keyOf(object)}`,
        side: "provider",
        message: `status.namespace is ${mapping.providerNamespace}, which is the namespace of ${other} as well`,
      },
    ];
  });
}

/** The annotations of our service namespaces, and the marks of every object that can be seen. */
export function checkTenancy(snapshot: InvariantSnapshot, places: Places): readonly Violation[] {
  return [
    ...checkServiceNamespaces(snapshot),
    ...Object.entries(snapshot.provider.objects).flatMap(([resource, objects]) =>
      objects.flatMap((object) => checkMarks(snapshot, places, resource, object)),
    ),
  ];
}

function checkServiceNamespaces({ provider }: InvariantSnapshot): readonly Violation[] {
  if (provider.namespaces === undefined) return [];
  const byName = new Map(provider.namespaces.map((object) => [object.metadata.name, object]));
  return provider.apiServiceNamespaces.flatMap((object): Violation[] => {
    const mapping = mappingOf(object);
    if (mapping.state !== "ready") return [];
    const wanted = serviceNamespaceOwner(provider.tenant.namespace, object.metadata.name ?? "");
    const found = byName.get(mapping.providerNamespace);
    const present = found?.metadata.annotations?.[serviceNamespaceAnnotation];
    if (present === wanted) return [];
    const message =
      found === undefined
        ? `does not exist, but namespace ${object.metadata.name} of the consumer is mapped to it`
        : `annotation ${serviceNamespaceAnnotation} is ${present ?? "not set"}, it must be ${wanted}`;
    return [
      { invariant: "Tenancy", object: `namespaces ${mapping.providerNamespace}`, side: "provider", message },
    ];
  });
}

function checkMarks(
  { provider }: InvariantSnapshot,
  { tenantOf }: Places,
  resource: string,
  object: DynamicObject,
): readonly Violation[] {
  const { namespace, labels, annotations } = object.metadata;
  const tenants = [provider.tenant, ...provider.otherTenants];
  const uid = labels?.[claimedFromLabel];
  const mark = annotations?.[clusterNamespaceAnnotation];
  const violation = (message: string): Violation => ({
    invariant: "Tenancy",
    object: `${resource} ${keyOf(object)}`,
    side: "provider",
    message,
  });
  const place = namespace === undefined ? mark : tenantOf.get(namespace);
  if (place === undefined) {
    const isStray = uid === provider.tenant.namespaceUid || mark === provider.tenant.namespace;
    const where = namespace === undefined ? "has no owner" : "is in no service namespace";
    return isStray
      ? [violation(`carries the mark of tenant ${provider.tenant.namespace}, but ${where}`)]
      : [];
  }
  const owner = tenants.find((tenant) => tenant.namespace === place);
  // Objects of neither tenant are not judged.
  const concernsUs = place === provider.tenant.namespace || uid === provider.tenant.namespaceUid;
  if (uid !== undefined && concernsUs && uid !== owner?.namespaceUid) {
    const from = tenants.find((tenant) => tenant.namespaceUid === uid)?.namespace ?? `with UID ${uid}`;
    return [violation(`label ${claimedFromLabel} names tenant ${from}, but it stands with tenant ${place}`)];
  }
  if (mark !== undefined && mark !== place && [mark, place].includes(provider.tenant.namespace)) {
    return [
      violation(
        `annotation ${clusterNamespaceAnnotation} names tenant ${mark}, but it stands with tenant ${place}`,
      ),
    ];
  }
  return [];
}
