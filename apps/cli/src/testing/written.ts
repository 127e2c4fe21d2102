/** Lists a cluster's objects, to detect whether a command wrote any. */
import { apiServiceBindings } from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  keyOf,
  namespaces,
  type ResourceType,
  secrets,
  serviceAccounts,
} from "@klutch/kube-core";
import { isNotFound, type KubeClient } from "@klutch/kube";

/** Resources that a bind command could write to an app cluster. */
export const writtenByBind: readonly ResourceType[] = [
  namespaces,
  secrets,
  serviceAccounts,
  deployments,
  clusterRoles,
  clusterRoleBindings,
  apiServiceBindings,
];

/** One line for each object, which every write to it changes; sorted. A type that is not served has no line. */
export async function objectLines(client: KubeClient, types: readonly ResourceType[]): Promise<string[]> {
  const lines = await Promise.all(types.map((type) => linesOf(client, type)));
  return lines.flat().toSorted();
}

async function linesOf(client: KubeClient, type: ResourceType): Promise<string[]> {
  try {
    const { items } = await client.list(type);
    return items.map(
      (object) => `${type.kind} ${keyOf(object)} ${object.metadata.uid} ${object.metadata.resourceVersion}`,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return [];
  }
}
