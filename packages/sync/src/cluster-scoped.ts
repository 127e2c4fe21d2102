/**
 * Which upstream object serves a cluster-scoped claim. Agents have named these objects in two ways: `<cluster namespace>-<name>` (the
 * Go agent, whatever isolation the export names, and isolation Prefixed) and `<name>` (isolation None). An existing object is gone
 * on with, under whichever name; only a new one gets the name that the isolation asks for. And as long as a claim explains an
 * object by any of these namings, the object is no orphan.
 *
 * | annotation `consumer-name` | claims that exist | whose the object is |
 * |----------------------------|-------------------|---------------------|
 * | names a claim              | any               | that claim's |
 * | none                       | one of the two    | that claim's |
 * | none                       | both              | the one without prefix's, if an older agent made it or the other one has a prefixed object; else by isolation |
 * | none                       | neither           | by who made it, else by isolation: an orphan, or to be adopted |
 */
import { clusterNamespaceAnnotation, consumerNameAnnotation, prefixedName } from "@klutch/api";
import type { ObjectMeta } from "@klutch/kube-core";
import { isBound } from "./content.ts";
import type { Isolation, Tenant } from "./namespaces.ts";

/** A cluster-scoped object of the provider. */
export interface Upstream {
  readonly metadata: ObjectMeta;
  /** An agent of the other implementation made it. */
  readonly hasLegacy?: boolean | undefined;
}

/** View of one cluster-scoped resource in both clusters, by name. */
export interface ClusterScopedView<T extends Upstream = Upstream> {
  readonly hasClaim: (name: string) => boolean;
  readonly upstream: (name: string) => T | undefined;
}

/** The position of a claim's upstream object. */
export interface ClusterScopedPlace<T extends Upstream = Upstream> {
  readonly name: string;
  /** Object of that name: the claim's own, another's (then the claim has to wait), or none. */
  readonly upstream: T | undefined;
  readonly isOwn: boolean;
  /** The claim has another one besides; it is left alone while the claim lives. */
  readonly second: string | undefined;
}

/** Names under which an agent may have put a claim on the provider. */
export function upstreamNamesOf(tenant: Tenant, claim: string): readonly string[] {
  return [prefixedName(tenant.namespace, claim), claim];
}

/** The claims that an upstream object may serve, the one without prefix first; none when it is not this tenant's. */
export function claimNamesOf(tenant: Tenant, { metadata }: Upstream): readonly string[] {
  const { name = "", annotations } = metadata;
  if (annotations?.[clusterNamespaceAnnotation] !== tenant.namespace) return [];
  const original = annotations[consumerNameAnnotation];
  if (original !== undefined) return upstreamNamesOf(tenant, original).includes(name) ? [original] : [];
  const prefix = `${tenant.namespace}-`;
  const isPrefixed = name.startsWith(prefix) && name !== prefix;
  return isPrefixed ? [name.slice(prefix.length), name] : [name];
}

/** The claim that an upstream object serves, or would serve if it existed; undefined when it is not this tenant's. */
export function claimNameOf(
  tenant: Tenant,
  upstream: Upstream,
  isolation: Isolation,
  view: ClusterScopedView,
): string | undefined {
  const [inner, whole] = claimNamesOf(tenant, upstream);
  if (inner === undefined || whole === undefined) return inner;
  const [hasInner, hasWhole] = [view.hasClaim(inner), view.hasClaim(whole)];
  if (hasInner !== hasWhole) return hasInner ? inner : whole;
  if (isolation !== "None" || upstream.hasLegacy === true) return inner;
  const other = view.upstream(prefixedName(tenant.namespace, whole));
  return other !== undefined && claimNamesOf(tenant, other).includes(whole) ? inner : whole;
}

/** Returns the place of a claim's upstream object, existing or new. */
export function clusterScopedPlace<T extends Upstream>(
  tenant: Tenant,
  claim: string,
  isolation: Isolation,
  view: ClusterScopedView<T>,
): ClusterScopedPlace<T> {
  const names = upstreamNamesOf(tenant, claim);
  const own = names.flatMap((name) => {
    const upstream = view.upstream(name);
    const isOwn = upstream !== undefined && claimNameOf(tenant, upstream, isolation, view) === claim;
    return isOwn ? [{ name, upstream }] : [];
  });
  const [first, second] = own.toSorted((a, b) => rankOf(a.upstream) - rankOf(b.upstream));
  if (first !== undefined) return { ...first, isOwn: true, second: second?.name };
  const [prefixed = claim] = names;
  const name = isolation === "None" ? claim : prefixed;
  return { name, upstream: view.upstream(name), isOwn: false, second: undefined };
}

/** One that was let go of comes last; one that names its claim comes before one that only has a fitting name. */
function rankOf(upstream: Upstream): number {
  const isNamed = upstream.metadata.annotations?.[consumerNameAnnotation] !== undefined;
  return (isBound(upstream) ? 0 : 2) + (isNamed ? 0 : 1);
}
