/** Reads the way above a claim: its upstream object, the composite, what that composes, and the ProviderConfigs. */
import {
  apiServiceNamespaces,
  prefixedName,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
  serviceNamespaceOwner,
} from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import { type DynamicObject, namespaces, type ObjectRef, type ResourceType, textAt } from "@klutch/kube-core";
import type { Above } from "@klutch/overview";
import { type AboveReader, looked, readComposed } from "@klutch/overview/read";
import { isBound, markOn, specMark } from "@klutch/sync";
import { ifAllowed } from "../clusters.ts";
import { CliError } from "../errors.ts";

/** Reads the way above the claim of an app cluster, whose cluster namespace is `tenant`. */
export async function readAbove(
  reader: AboveReader,
  tenant: string,
  type: ResourceType,
  claim: DynamicObject,
): Promise<Above> {
  const { client, signal } = reader;
  const above = await discoverResource(client, { group: type.group, plural: type.plural }, { signal });
  if (above === undefined)
    throw new CliError("Manifest", `The control plane does not serve ${type.plural}.${type.group}.`);
  const ref = await upstreamRef(reader, tenant, claim);
  const found =
    ref === undefined ? "missing" : await looked(() => client.find<DynamicObject>(above, ref, { signal }));
  // An object of the same name that no konnector made is another one.
  if (typeof found === "string" || !isBound(found)) {
    const upstream = found === "forbidden" ? found : "missing";
    return { upstream, holdsSpec: undefined, composite: undefined, isComposed: true, resources: [] };
  }
  const mark = markOn(found);
  return {
    ...(await readComposed(reader, above, found)),
    holdsSpec: mark === undefined ? undefined : mark === specMark(claim),
  };
}

/** Returns where the upstream object stands; undefined if the namespace has none yet, or one of another tenant. */
async function upstreamRef(
  { client, signal }: AboveReader,
  tenant: string,
  { metadata }: DynamicObject,
): Promise<ObjectRef | undefined> {
  const { name = "", namespace } = metadata;
  if (namespace === undefined) return { name: prefixedName(tenant, name) };
  const mapping = await ifAllowed(() =>
    client.find<DynamicObject>(apiServiceNamespaces, { namespace: tenant, name: namespace }, { signal }),
  );
  const mapped = textAt(mapping?.status, "namespace");
  const above = mapped ?? serviceNamespaceName(tenant, namespace);
  const space = await ifAllowed(() => client.find(namespaces, { name: above }, { signal }));
  const owner = space?.metadata.annotations?.[serviceNamespaceAnnotation];
  // The name alone proves nothing: either the backend's answer in the mapping says that it is this tenant's, or its annotation does.
  const isOwn =
    owner === serviceNamespaceOwner(tenant, namespace) || (owner === undefined && mapped !== undefined);
  if (!isOwn) return undefined;
  return { namespace: above, name };
}
