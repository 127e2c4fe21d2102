/** Reads the tenants of a control plane with their people and Grants. */
import {
  boundByAnnotation,
  type ClusterBinding,
  clusterBindings,
  clusterNameAnnotation,
  crdNameOf,
  displayName,
  type Grant,
  grants,
} from "@klutch/api";
import { isNotFound } from "@klutch/kube";
import { type KubeObject, namespaces, type ResourceType } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { nearestNames } from "../nearest.ts";
import type { ControlPlane } from "../service/control-plane.ts";
import { isTenant, peopleIn } from "./people.ts";

/** An app cluster in the control plane. */
export interface Tenant {
  /** The cluster namespace. */
  readonly name: string;
  /** Name of the app cluster and of the last person there, for people. Both prove nothing. */
  readonly cluster: string;
  readonly boundBy: string;
  readonly namespace: KubeObject;
  /** Without Grants that are being deleted. */
  readonly grants: readonly Grant[];
}

/** A person of a tenant. */
export interface PersonOfTenant {
  readonly issuer: string;
  readonly subject: string;
  /** Name in the control plane's RBAC; empty if no Grant names it. */
  readonly user: string;
  readonly displayName: string;
  /** RFC 3339. */
  readonly since: string;
  /** RFC 3339; empty if no Grant says it. */
  readonly lastBound: string;
  readonly apis: readonly string[];
}

/** Reads all of them, by the names of their namespaces. Namespaces that are being deleted are none. */
export async function readTenants(context: CliContext, cluster: ControlPlane): Promise<readonly Tenant[]> {
  const [spaces, bindings, records] = await Promise.all([
    listed<KubeObject>(context, cluster, namespaces),
    listed<ClusterBinding>(context, cluster, clusterBindings),
    listed<Grant>(context, cluster, grants),
  ]);
  const grantsIn = Map.groupBy(records, ({ metadata }) => metadata.namespace ?? "");
  const namesIn = new Map(bindings.map(({ metadata }) => [metadata.namespace, metadata.annotations]));
  return spaces
    .filter((space) => isTenant(space) && space.metadata.deletionTimestamp === undefined)
    .map((namespace) => {
      const { name = "" } = namespace.metadata;
      const annotations = namesIn.get(name) ?? {};
      return {
        name,
        cluster: displayName(annotations[clusterNameAnnotation]) ?? "",
        boundBy: displayName(annotations[boundByAnnotation]) ?? "",
        namespace,
        grants: (grantsIn.get(name) ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined),
      };
    })
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** A control plane of an earlier release lacks the kind Grant. */
export async function listed<T extends KubeObject>(
  { signal }: CliContext,
  { client }: ControlPlane,
  type: ResourceType,
  namespace?: string,
): Promise<readonly T[]> {
  try {
    const scope = namespace === undefined ? {} : { namespace };
    return await Array.fromAsync(client.listAll<T>(type, { ...scope, limit: 500, signal }));
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** Returns the tenant with this cluster namespace. Throws `CliError` with the nearest names; a name that people chose selects none. */
export function requireTenant(tenants: readonly Tenant[], name: string): Tenant {
  const found = tenants.find((tenant) => tenant.name === name);
  if (found !== undefined) return found;
  const named = new Map(tenants.flatMap((one) => [[one.name, one] as const, [one.cluster, one] as const]));
  const nearest = nearestNames(name, named.keys()).map((near) => tenantText(named.get(near)));
  throw new CliError(
    "Usage",
    `${JSON.stringify(name)} is not the cluster namespace of a tenant. ${hintOf(nearest, "klutch members lists them")}`,
  );
}

/** Ends a message about an unknown name. */
export function hintOf(nearest: readonly string[], list: string): string {
  return nearest.length === 0 ? `${list}.` : `Did you mean ${[...new Set(nearest)].join(" or ")}? ${list}.`;
}

/** Names a tenant: its namespace, which identifies it, and the name that people know. */
export function tenantText(tenant: Pick<Tenant, "name" | "cluster"> | undefined): string {
  if (tenant === undefined) return "";
  return tenant.cluster === "" ? tenant.name : `${tenant.name} (${tenant.cluster})`;
}

/** Returns the API of a Grant, `<resource>.<group>`. */
export function apiOf({ spec }: Grant): string {
  return crdNameOf(spec.api);
}

/** Merges founder, members and the people that Grants name. */
export function peopleOf({ namespace, grants: records }: Tenant): readonly PersonOfTenant[] {
  const known = peopleIn(namespace).map(({ issuer = "", subject, since }) => ({
    issuer,
    subject,
    since: since ?? namespace.metadata.creationTimestamp ?? "",
  }));
  const others = records
    .filter(({ spec }) => !known.some((person) => isSame(person, spec.identity)))
    .map(({ spec, metadata }) => ({
      issuer: spec.identity.issuer,
      subject: spec.identity.subject,
      since: metadata.creationTimestamp ?? spec.boundAt,
    }));
  const people = [...known];
  for (const other of others) if (!people.some((person) => isSame(person, other))) people.push(other);
  return people.map((person) => {
    const own = records
      .filter(({ spec }) => isSame(person, spec.identity))
      .toSorted((one, other) => (one.spec.boundAt < other.spec.boundAt ? 1 : -1));
    const [last] = own;
    return {
      ...person,
      issuer: person.issuer === "" ? (last?.spec.identity.issuer ?? "") : person.issuer,
      user: last?.spec.identity.user ?? "",
      displayName: displayName(last?.spec.identity.displayName) ?? "",
      lastBound: last?.spec.boundAt ?? "",
      apis: own.map(apiOf).toSorted(),
    };
  });
}

/** A founder that a backend in Go wrote has no issuer. */
export function isSame(
  person: { readonly issuer?: string | undefined; readonly subject: string },
  other: { readonly issuer: string; readonly subject: string },
): boolean {
  return person.subject === other.subject && [undefined, "", other.issuer].includes(person.issuer);
}
