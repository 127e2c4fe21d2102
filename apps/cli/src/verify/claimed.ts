/** The objects of claimed resources on both sides. */
import {
  type APIServiceBinding,
  type APIServiceExport,
  claimedFromLabel,
  crdNameOf,
  type PermissionClaim,
} from "@klutch/api";
import { type DynamicObject, type ResourceType, secrets } from "@klutch/kube-core";
import { discoverResource } from "@klutch/kube";
import { effectiveClaims, type ObjectsByResource, type Tenant } from "@klutch/sync";
import type { ObjectsOfBoth } from "./bound.ts";
import { ifAllowed } from "../clusters.ts";
import { listAll, type Reader, readConsumer, readNamespaced, readProvider } from "./reader.ts";
import type { OwnNamespaces } from "./tenants.ts";

/** A tenant and where its objects stand. */
interface Place {
  readonly own: OwnNamespaces;
  readonly tenant: Tenant;
}

/** The claims that both sides agreed on: made by the export and accepted by the binding of its name. */
export function claimsOf(
  bound: readonly APIServiceBinding[],
  exports: readonly APIServiceExport[],
): readonly PermissionClaim[] {
  return bound.flatMap(({ metadata, spec }) => {
    const exported = exports.find((one) => one.metadata.name === metadata.name);
    return effectiveClaims(spec.permissionClaims ?? [], exported?.spec.permissionClaims ?? []);
  });
}

/** Lists claimed resources by name. Secrets are included without a claim, to find those that no claim lets leave. */
export async function claimedTypes(
  { consumer, signal, notes }: Reader,
  claims: readonly PermissionClaim[],
): Promise<ReadonlyMap<string, ResourceType>> {
  const types = new Map([["secrets", secrets as ResourceType]]);
  for (const claim of claims) {
    const { group = "", version, resource } = claim;
    const type = await discoverResource(consumer.client, { group, version, plural: resource }, { signal });
    if (type === undefined) notes.add(`${resource} is claimed, but the app cluster does not serve it.`);
    else types.set(crdNameOf(claim), type);
  }
  return types;
}

/** Reads those that are not `known` yet: in mapped namespaces of both sides, and at the provider what carries our mark elsewhere. */
export async function readClaimed(
  reader: Reader,
  types: ReadonlyMap<string, ResourceType>,
  known: ObjectsByResource,
  place: Place,
): Promise<ObjectsOfBoth> {
  const consumer: Record<string, readonly DynamicObject[]> = {};
  const provider: Record<string, readonly DynamicObject[]> = {};
  for (const [name, type] of types) {
    if (name in known) continue;
    const items = await readBothSides(reader, type, place.own);
    if (items === undefined) continue;
    const marked = await readMarked(reader, type, place.tenant);
    consumer[name] = items.consumer;
    provider[name] = withMarked(items.provider, marked);
  }
  return { consumer, provider };
}

async function readBothSides(
  reader: Reader,
  type: ResourceType,
  own: OwnNamespaces,
): Promise<Record<"consumer" | "provider", readonly DynamicObject[]> | undefined> {
  const [consumer, provider] = type.namespaced
    ? await Promise.all([
        readNamespaced(reader.consumer.client, type, own.consumer, reader),
        readNamespaced(reader.provider.client, type, own.provider, reader),
      ])
    : [await readConsumer(reader, type), await readProvider(reader, type, [])];
  return consumer === undefined || provider === undefined ? undefined : { consumer, provider };
}

/** Metadata of everything that is marked as this tenant's, wherever it may be listed. */
async function readMarked(
  { provider, signal }: Reader,
  type: ResourceType,
  { namespaceUid }: Tenant,
): Promise<readonly DynamicObject[]> {
  const options = { labelSelector: `${claimedFromLabel}=${namespaceUid}`, metadataOnly: true, signal };
  return (await ifAllowed(() => listAll<DynamicObject>(provider.client, type, options))) ?? [];
}

/** Whole objects, and of the marked ones those that are not among them. */
export function withMarked(
  items: readonly DynamicObject[],
  marked: readonly DynamicObject[],
): readonly DynamicObject[] {
  const known = new Set(items.map(({ metadata }) => metadata.uid));
  return [...items, ...marked.filter(({ metadata }) => !known.has(metadata.uid))];
}
