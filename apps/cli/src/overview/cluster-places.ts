/** Regions and brokers that hold the instances of each app cluster, by the managed resources of the control plane. */
import {
  namespacedServiceInstances,
  plainText,
  regionLabel,
  serviceInstances,
  usageNamespaceOf,
} from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import type { ControlPlane } from "../service/control-plane.ts";
import { listed } from "../tenants/read.ts";

/** Names of places, without repetition. */
export interface Places {
  readonly regions: ReadonlySet<string>;
  readonly brokers: ReadonlySet<string>;
}

/** Finds the places of an app cluster by its cluster namespace. */
export type PlacesOf = (clusterNamespace: string) => Places;

/** Longest name in a cell, as a value of a label has it, and most names. */
const [longest, most] = [63, 50];
const none: Places = { regions: new Set(), brokers: new Set() };
export const noPlaces: PlacesOf = () => none;

/**
 * Reads them with the caller's rights. A person who may not list managed resources sees none; a line says so. `tenantOf`: cluster namespace by the
 * namespace of a claim.
 */
export async function readPlaces(
  context: CliContext,
  cluster: ControlPlane,
  tenantOf: () => Promise<ReadonlyMap<string, string>>,
): Promise<PlacesOf> {
  try {
    const kinds = [serviceInstances, namespacedServiceInstances];
    const [tenants, ...instances] = await Promise.all([
      tenantOf(),
      ...kinds.map((kind) => listed<DynamicObject>(context, cluster, kind)),
    ]);
    return placesIn(instances.flat(), tenants);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const { message } = error;
    context.terminal.say(`No regions and brokers are shown: ${message}`);
    return noPlaces;
  }
}

/** Returns the places of all app clusters. An instance of no app cluster, and one that is being deleted, count for none. */
export function placesIn(
  instances: readonly DynamicObject[],
  tenantOf: ReadonlyMap<string, string>,
): PlacesOf {
  const places = new Map<string, { readonly regions: Set<string>; readonly brokers: Set<string> }>();
  for (const instance of instances) {
    const tenant = tenantOf.get(usageNamespaceOf(instance) ?? "") ?? "";
    if (tenant === "" || instance.metadata.deletionTimestamp !== undefined) continue;
    const found = places.get(tenant) ?? { regions: new Set(), brokers: new Set() };
    places.set(tenant, found);
    add(found.regions, instance.metadata.labels?.[regionLabel]);
    add(found.brokers, textAt(instance, "spec", "providerConfigRef", "name"));
  }
  return (clusterNamespace) => places.get(clusterNamespace) ?? none;
}

function add(names: Set<string>, name: string | undefined): void {
  if (name === undefined || names.size >= most) return;
  // Cut first: cleaning a text takes time for each of its characters.
  const text = plainText(name.slice(0, 4 * longest), longest);
  if (text !== "") names.add(text);
}
