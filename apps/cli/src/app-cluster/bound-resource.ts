/** The binding that a command line names, and the objects of its API. */
import { type APIServiceBinding, apiServiceBindings, consumerNamespace } from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  isOwnerOfKind,
  type KubeObject,
  type ResourceType,
} from "@klutch/kube-core";
import { isNotFound, resourceTypeOf } from "@klutch/kube";
import { crdHashAnnotation } from "@klutch/sync";
import type { Consumer } from "../clusters.ts";
import { CliError } from "../errors.ts";

/** All bindings of the app cluster; undefined when it does not serve the kind, so nothing was ever bound. */
export async function listBindings(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<readonly APIServiceBinding[] | undefined> {
  try {
    return await Array.fromAsync(consumer.client.listAll<APIServiceBinding>(apiServiceBindings, { signal }));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** `<resource>.<group>` as given on the command line. Throws `CliError`. */
export function parseApiName(name: string): { readonly group: string; readonly resource: string } {
  const match = /^([a-z][-a-z0-9]*)\.([a-z0-9][-.a-z0-9]*)$/.exec(name);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new CliError(
      "Usage",
      `${name} is not the name of an API; write <resource>.<group>, for example postgresqlinstances.anynines.com.`,
    );
  }
  return { resource: match[1], group: match[2] };
}

/** The binding of this name, that of klutch-bind first; undefined when there is none. */
export async function findBinding(
  consumer: Consumer,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly binding: APIServiceBinding | undefined; readonly names: readonly string[] }> {
  const all = (await listBindings(consumer, signal)) ?? [];
  const named = all.filter(({ metadata }) => metadata.name === name);
  const binding = named.find(({ metadata }) => metadata.namespace === consumerNamespace) ?? named[0];
  return { binding, names: all.map(({ metadata }) => metadata.name ?? "") };
}

/** Returns the error for a binding that does not exist, with the names of the existing ones. */
export function noSuchBinding(name: string, names: readonly string[]): CliError {
  const hint = names.length === 0 ? "No API is bound." : `Bound are: ${names.toSorted().join(", ")}.`;
  return new CliError("Usage", `There is no APIServiceBinding ${name} in the app cluster. ${hint}`);
}

/** The resource that a CRD of this name serves; undefined when there is none. */
export async function servedResource(
  consumer: Consumer,
  name: string,
  signal: AbortSignal,
): Promise<ResourceType | undefined> {
  const crd = await consumer.client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
  return crd === undefined ? undefined : resourceTypeOf(crd);
}

/** Metadata of all objects of a resource; empty when it is no longer served. */
export async function listMetadata(
  consumer: Consumer,
  type: ResourceType,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    return await Array.fromAsync(consumer.client.listAll(type, { metadataOnly: true, signal }));
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** The APIServiceBinding that owns a CRD. */
export function bindingOwner({
  metadata,
}: KubeObject): { readonly name: string; readonly uid: string } | undefined {
  return metadata.ownerReferences?.find((owner) => isOwnerOfKind(owner, apiServiceBindings));
}

/** The APIs that bindings brought into the cluster and that are not bound now, by name; the resource is undefined if it is not served. */
export async function leftApis(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ResourceType | undefined>> {
  const bound = new Set(((await listBindings(consumer, signal)) ?? []).map(({ metadata }) => metadata.name));
  const left = new Map<string, ResourceType | undefined>();
  const all = consumer.client.listAll(customResourceDefinitions, { metadataOnly: true, signal });
  for await (const crd of all) {
    const { name = "", annotations } = crd.metadata;
    const isOurs = bindingOwner(crd) !== undefined || annotations?.[crdHashAnnotation] !== undefined;
    if (isOurs && !bound.has(name)) left.set(name, await servedResource(consumer, name, signal));
  }
  return left;
}
