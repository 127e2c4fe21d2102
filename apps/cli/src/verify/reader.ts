/** Reads that `klutch verify` makes of both clusters. What may not be read is left out and noted. */
import { crdNameOf } from "@klutch/api";
import type { DynamicObject, KubeObject, ResourceType } from "@klutch/kube-core";
import { isNotFound, type KubeClient, type ListOptions } from "@klutch/kube";
import { type Consumer, ifAllowed } from "../clusters.ts";

/** The control plane cluster with the person's own kubeconfig. */
export interface ControlPlane extends AsyncDisposable {
  readonly side: "provider";
  readonly client: KubeClient;
  /** The cluster namespace. */
  readonly namespace: string;
}

/** Reads both clusters and notes the unreadable resources. */
export interface Reader {
  readonly consumer: Consumer;
  readonly provider: ControlPlane;
  readonly signal: AbortSignal;
  /** Whole sentences for the person. */
  readonly notes: Set<string>;
}

/** All objects of the app cluster; none, with a note, when it does not serve the resource. */
export async function readConsumer(
  { consumer, signal, notes }: Reader,
  type: ResourceType,
): Promise<DynamicObject[]> {
  try {
    return await listAll<DynamicObject>(consumer.client, type, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const name = crdNameOf({ group: type.group, resource: type.plural });
    notes.add(`${name} is not served by the app cluster yet.`);
    return [];
  }
}

/** The objects of these namespaces, or all of a cluster-scoped resource. Undefined when they may not be listed. */
export async function readProvider(
  reader: Reader,
  type: ResourceType,
  where: readonly string[],
): Promise<DynamicObject[] | undefined> {
  const { provider, signal, notes } = reader;
  if (type.namespaced) return readNamespaced(provider.client, type, where, reader);
  const everything = await ifAllowed(() => listAll<DynamicObject>(provider.client, type, { signal }));
  if (everything === undefined) notes.add(`${type.plural} of the control plane may not be listed.`);
  return everything;
}

/** The objects of these namespaces of either cluster. Undefined, with a note, when one of them may not be listed. */
export async function readNamespaced(
  client: KubeClient,
  type: ResourceType,
  names: readonly string[],
  { signal, notes }: Reader,
): Promise<DynamicObject[] | undefined> {
  const found: DynamicObject[] = [];
  for (const namespace of names) {
    const part = await ifAllowed(() => listAll<DynamicObject>(client, type, { namespace, signal }));
    if (part === undefined) {
      notes.add(`${type.plural} in namespace ${namespace} may not be listed.`);
      return undefined;
    }
    found.push(...part);
  }
  return found;
}

/** All pages. */
export async function listAll<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  options: ListOptions,
): Promise<T[]> {
  return Array.fromAsync(client.listAll<T>(type, options));
}
