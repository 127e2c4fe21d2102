/** Reads both clusters for `klutch verify`. Only reads; what may not be read is left out and said. */
import {
  type APIServiceBinding,
  type APIServiceExport,
  apiServiceExports,
  apiServiceNamespaces,
  claimedFromLabel,
  crdNameOf,
  identityAnnotation,
  type PermissionClaim,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import {
  discoverResource,
  isForbidden,
  isNotFound,
  type KubeClient,
  type ListOptions,
  resourceTypeOf,
} from "@klutch/kube";
import { effectiveClaims, type InvariantSnapshot, mappingOf, syncedVersion, type Tenant } from "@klutch/sync";
import {
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { bindingOwner } from "../app-cluster/bound-resource.ts";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type LeftOut, listBindingsOrFail, sortBindings } from "./bindings.ts";

/** The control plane cluster with the person's own kubeconfig. */
export interface ControlPlane extends AsyncDisposable {
  readonly side: "provider";
  readonly client: KubeClient;
  /** The cluster namespace. */
  readonly namespace: string;
}

/** A snapshot and what it does not show. */
export interface Reading {
  readonly snapshot: InvariantSnapshot;
  readonly notes: readonly string[];
  /** Bindings that were not compared. */
  readonly leftOut: readonly LeftOut[];
  /** What was compared: bound APIs first, then claimed resources. */
  readonly resources: readonly ComparedResource[];
}

/** A resource of both clusters. */
export interface ComparedResource {
  readonly resource: string;
  readonly role: "bound" | "claimed";
  /** Read although no accepted claim asks for it, to see that nothing is there. */
  readonly optional: boolean;
}

interface Reader {
  readonly consumer: Consumer;
  readonly provider: ControlPlane;
  readonly signal: AbortSignal;
  readonly notes: Set<string>;
}

/** Where this tenant's namespaced objects stand. */
interface OwnNamespaces {
  readonly consumer: readonly string[];
  readonly provider: readonly string[];
}

/** Reads everything that the invariants look at, once. */
export async function readSnapshot(
  { signal, clock }: CliContext,
  consumer: Consumer,
  provider: ControlPlane,
): Promise<Reading> {
  const reader: Reader = { consumer, provider, signal, notes: new Set() };
  const tenant = await readTenant(reader);
  const [everyBinding, systemUid, exports, mappings] = await Promise.all([
    listBindingsOrFail(consumer, signal),
    kubeSystemUid(reader),
    listAll<APIServiceExport>(provider.client, apiServiceExports, { namespace: provider.namespace, signal }),
    listAll<DynamicObject>(provider.client, apiServiceNamespaces, { namespace: provider.namespace, signal }),
  ]);
  const allNamespaces = await readNamespaces(reader);
  const identity = {
    namespace: tenant.namespace,
    namespaceUid: tenant.namespaceUid,
    kubeSystemUid: systemUid,
  };
  const exported = new Set(exports.map(({ metadata }) => metadata.name));
  const { bindings, bound, leftOut } = sortBindings(everyBinding, identity, exported);
  const consumerObjects: Record<string, readonly DynamicObject[]> = {};
  const providerObjects: Record<string, readonly DynamicObject[]> = {};
  const own = ownNamespaces(mappings, allNamespaces ?? [], tenant);
  for (const one of exports) {
    const name = one.metadata.name ?? "";
    if (!bound.some(({ metadata }) => metadata.name === name)) continue;
    const types = typesOf(one);
    if (types === undefined) continue;
    consumerObjects[name] = await readConsumer(reader, types.consumer);
    const isInClusterNamespace = types.provider.namespaced && !types.consumer.namespaced;
    const where = isInClusterNamespace ? [tenant.namespace] : own.provider;
    const objects = await readProvider(reader, types.provider, where);
    if (objects !== undefined) providerObjects[name] = objects;
  }
  const crds = await readOrphanedApis(reader, bindings, consumerObjects);
  const claimed = await readClaimed(
    reader,
    bound,
    exports,
    { own, tenant },
    consumerObjects,
    providerObjects,
  );
  return {
    snapshot: {
      now: clock.now(),
      consumer: {
        objects: consumerObjects,
        bindings,
        crds,
        namespaces: await listAll<DynamicObject>(consumer.client, namespaces, { metadataOnly: true, signal }),
      },
      provider: {
        objects: providerObjects,
        exports,
        apiServiceNamespaces: mappings,
        namespaces: allNamespaces,
        tenant,
        otherTenants: otherTenants(allNamespaces ?? [], tenant),
      },
    },
    notes: [...reader.notes, ...leftOut.map(({ name, reason }) => `${name} is left out: ${reason}.`)],
    leftOut,
    resources: [
      ...bound.map(({ metadata }) => ({
        resource: metadata.name ?? "",
        role: "bound" as const,
        optional: false,
      })),
      ...claimed,
    ],
  };
}

async function readTenant({ provider, signal }: Reader): Promise<Tenant> {
  const { client, namespace } = provider;
  const found = await client.find(namespaces, { name: namespace }, { signal });
  if (found !== undefined) return { namespace, namespaceUid: found.metadata.uid ?? "" };
  throw new CliError(
    "Usage",
    `The control plane has no namespace ${namespace}. Pass --namespace with the cluster namespace of this app cluster. It is the namespace in the kubeconfig of the binding's Secret.`,
  );
}

async function kubeSystemUid({ provider, signal }: Reader): Promise<string | undefined> {
  const found = await ifAllowed(() => provider.client.find(namespaces, { name: "kube-system" }, { signal }));
  return found?.metadata.uid;
}

async function readNamespaces({ provider, signal, notes }: Reader): Promise<DynamicObject[] | undefined> {
  const options = { metadataOnly: true, signal };
  const found = await ifAllowed(() => listAll<DynamicObject>(provider.client, namespaces, options));
  if (found === undefined) {
    notes.add(
      "Namespaces of the control plane may not be listed: their annotations and other tenants are not checked.",
    );
  }
  return found;
}

function otherTenants(all: readonly KubeObject[], tenant: Tenant): Tenant[] {
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

function typesOf(exported: APIServiceExport): Record<"consumer" | "provider", ResourceType> | undefined {
  const { group, names, scope, clusterScopedIsolation } = exported.spec;
  const version = syncedVersion(exported.spec)?.name;
  if (version === undefined) return undefined;
  const type = { group, version, plural: names.plural, kind: names.kind, namespaced: scope === "Namespaced" };
  return {
    consumer: type,
    provider: { ...type, namespaced: type.namespaced || clusterScopedIsolation === "Namespaced" },
  };
}

async function readConsumer(
  { consumer, signal, notes }: Reader,
  type: ResourceType,
): Promise<DynamicObject[]> {
  try {
    return await listAll<DynamicObject>(consumer.client, type, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    notes.add(
      `${crdNameOf({ group: type.group, resource: type.plural })} is not served by the app cluster yet.`,
    );
    return [];
  }
}

/** The objects of these namespaces, or all of a cluster-scoped resource. Undefined when they may not be listed. */
async function readProvider(
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

async function readNamespaced(
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

/** By mapping, and at the provider by annotation as well: there may be a second one. */
function ownNamespaces(
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

/** CRDs that bindings own or owned. Of those whose binding is gone, the objects' metadata is read: they may keep our finalizer. */
async function readOrphanedApis(
  { consumer, signal }: Reader,
  bindings: readonly APIServiceBinding[],
  objects: Record<string, readonly DynamicObject[]>,
): Promise<DynamicObject[]> {
  const options = { metadataOnly: true, signal };
  const all = await listAll<DynamicObject>(consumer.client, customResourceDefinitions, options);
  const owned = all.filter((crd) => bindingOwner(crd) !== undefined);
  const every = await listBindingsOrFail(consumer, signal);
  for (const { metadata } of owned) {
    const { name = "" } = metadata;
    if ([...bindings, ...every].some((binding) => binding.metadata.name === name)) continue;
    const crd = await consumer.client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
    const type = crd === undefined ? undefined : resourceTypeOf(crd);
    if (type !== undefined) objects[name] = await listAll<DynamicObject>(consumer.client, type, options);
  }
  return owned;
}

/** Claimed objects in mapped namespaces of both sides, and what carries our mark elsewhere. Secrets always, so that one which no claim lets leave is found. */
async function readClaimed(
  reader: Reader,
  bound: readonly APIServiceBinding[],
  exports: readonly APIServiceExport[],
  { own, tenant }: { readonly own: OwnNamespaces; readonly tenant: Tenant },
  consumerObjects: Record<string, readonly DynamicObject[]>,
  providerObjects: Record<string, readonly DynamicObject[]>,
): Promise<readonly ComparedResource[]> {
  const { consumer, provider, signal, notes } = reader;
  const claims = bound.flatMap(({ metadata, spec }) => {
    const exported = exports.find((one) => one.metadata.name === metadata.name);
    return effectiveClaims(spec.permissionClaims ?? [], exported?.spec.permissionClaims ?? []);
  });
  const types = new Map([["secrets", secrets as ResourceType]]);
  for (const claim of claims) {
    const type = await typeOfClaim(consumer.client, claim, signal);
    if (type === undefined) notes.add(`${claim.resource} is claimed, but the app cluster does not serve it.`);
    else types.set(crdNameOf(claim), type);
  }
  for (const [name, type] of types) {
    if (name in providerObjects) continue;
    const [consumerItems, providerItems] = type.namespaced
      ? await Promise.all([
          readNamespaced(consumer.client, type, own.consumer, reader),
          readNamespaced(provider.client, type, own.provider, reader),
        ])
      : [await readConsumer(reader, type), await readProvider(reader, type, [])];
    if (consumerItems === undefined || providerItems === undefined) continue;
    const labelSelector = `${claimedFromLabel}=${tenant.namespaceUid}`;
    const options = { labelSelector, metadataOnly: true, signal };
    const marked = await ifAllowed(() => listAll<DynamicObject>(provider.client, type, options));
    const known = new Set(providerItems.map(({ metadata }) => metadata.uid));
    consumerObjects[name] = consumerItems;
    providerObjects[name] = [
      ...providerItems,
      ...(marked ?? []).filter(({ metadata }) => !known.has(metadata.uid)),
    ];
  }
  const accepted = new Set(claims.map((claim) => crdNameOf(claim)));
  return [...types.keys()].map((resource) => ({
    resource,
    role: "claimed",
    optional: !accepted.has(resource),
  }));
}

async function typeOfClaim(
  client: KubeClient,
  { group = "", version, resource }: PermissionClaim,
  signal: AbortSignal,
): Promise<ResourceType | undefined> {
  return discoverResource(client, { group, version, plural: resource }, { signal });
}

async function listAll<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  options: ListOptions,
): Promise<T[]> {
  return Array.fromAsync(client.listAll<T>(type, options));
}

/** Undefined when the server says 403. */
async function ifAllowed<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
