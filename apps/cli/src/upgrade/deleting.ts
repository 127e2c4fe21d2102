/** Objects whose deletion has begun: it needs the programs that the upgrade restarts. */
import {
  apiServiceBindings,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceNamespaces,
  appClusterBindingAnnotation,
  appClusterBindings,
  backups,
  clusterBindings,
  identityAnnotation,
  managedServiceBindings,
  namespacedBackups,
  namespacedRestores,
  namespacedServiceBindings,
  namespacedServiceInstances,
  restores,
  serviceInstances,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  isDeleting,
  keyOf,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import type { CrdPair, Role } from "./crds.ts";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings, type Obstacle } from "./report.ts";

/** Kinds of a control plane with finalizers that a program must remove. */
const controlPlaneKinds: readonly ResourceType[] = [
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceNamespaces,
  appClusterBindings,
  clusterBindings,
  serviceInstances,
  managedServiceBindings,
  backups,
  restores,
  namespacedServiceInstances,
  namespacedServiceBindings,
  namespacedBackups,
  namespacedRestores,
];
const namespaceMarks = [identityAnnotation, serviceNamespaceAnnotation, appClusterBindingAnnotation];

/** `bound` are the resources that are bound in an app cluster. */
export async function lookForDeletions(
  reader: ClusterReader,
  role: Role,
  { pairs, bound }: { readonly pairs: readonly CrdPair[]; readonly bound: readonly ResourceType[] },
): Promise<Findings> {
  const going: DynamicObject[] = pairs.flatMap(({ present }) => present ?? []).filter(isDeleting);
  const deletedOf = async (type: ResourceType): Promise<readonly DynamicObject[]> => {
    const objects = await reader.list(type, { metadataOnly: true });
    return objects.filter(isDeleting).map((one) => ({ ...one, kind: type.kind }));
  };
  const isOurs = (one: DynamicObject): boolean => namespaceMarks.some((mark) => hasAnnotation(one, mark));
  going.push(...(await deletedOf(namespaces)).filter(isOurs));
  const kinds = role === "a control plane" ? controlPlaneKinds : bound;
  for (const kind of [apiServiceBindings, ...kinds]) going.push(...(await deletedOf(kind)));
  return findings({ against: going.map(obstacleOf) });
}

function hasAnnotation({ metadata }: DynamicObject, name: string): boolean {
  return metadata.annotations?.[name] !== undefined;
}

function obstacleOf(object: DynamicObject): Obstacle {
  const { deletionTimestamp = "", finalizers = [] } = object.metadata;
  const kind = object.kind === customResourceDefinitions.kind ? "CRD" : object.kind;
  const waits = finalizers.length === 0 ? "" : `; it waits for ${finalizers.join(", ")}`;
  return {
    object: `${kind} ${keyOf(object)}`,
    field: "metadata.deletionTimestamp",
    value: deletionTimestamp,
    expected: `nothing that is being deleted: wait until it is gone${waits}`,
  };
}
