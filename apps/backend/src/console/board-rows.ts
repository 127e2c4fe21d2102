/** Derives the console's rows from the objects of the control plane. */
import {
  type APIServiceExportTemplate,
  clusterNameAnnotation,
  crdNameOf,
  displayName,
  type Grant,
  readServiceNamespaceOwner,
  serviceNamespaceAnnotation,
  type Tenant,
  tenantName,
} from "@klutch/api";
import type { Informer } from "@klutch/kube-runtime";
import {
  type AuditEvent,
  type AuditRow,
  budgetProblem,
  type ClaimFacts,
  clusterProblem,
  clusterRow,
  eventRow,
  grantedRow,
  grantRow,
  instanceProblem,
  type InstanceRow,
  instanceRow,
  lastBackups,
  memberRows,
  offerProblem,
  type OfferRow,
  offerRow,
  type ProblemRow,
  problemOrder,
  rolloutProblem,
  type RowOf,
  trustedEvents,
} from "@klutch/overview";
import { byNamespace, type Caches, isOperators } from "../controller-context.ts";
import type { ConsoleClaims } from "./claims.ts";
import type { ConsoleCost } from "./cost.ts";
import { readKonnectors } from "./konnector-rows.ts";
import type { Entry, RowMemory } from "./row-memory.ts";

/** Sources of the rows. */
export interface RowSources {
  readonly caches: Pick<
    Caches,
    "bindings" | "exports" | "tenants" | "grants" | "namespaces" | "crds" | "rollouts"
  >;
  readonly templates: Informer<APIServiceExportTemplate>;
  readonly claims: Pick<ConsoleClaims, "caches">;
  readonly cost: Pick<ConsoleCost, "perMonth" | "plansOf" | "problems">;
  /** Events on Tenants. */
  readonly events: Pick<Informer<AuditEvent>, "list">;
  /** Milliseconds since the epoch. */
  readonly time: () => number;
}

/** The rows of each collection by their ids, in the order of the page. */
export interface Rows {
  readonly offers: ReadonlyMap<string, Entry<OfferRow>>;
  readonly clusters: ReadonlyMap<string, Entry<RowOf["clusters"]>>;
  readonly konnectors: ReadonlyMap<string, Entry<RowOf["konnectors"]>>;
  readonly instances: ReadonlyMap<string, Entry<InstanceRow>>;
  readonly members: ReadonlyMap<string, Entry<RowOf["members"]>>;
  readonly grants: ReadonlyMap<string, Entry<RowOf["grants"]>>;
  readonly audit: ReadonlyMap<string, Entry<AuditRow>>;
  readonly problems: ReadonlyMap<string, Entry<ProblemRow>>;
}

/** Claims of an app cluster. */
interface Counts {
  claims: number;
  notReady: number;
  heldDeletions: number;
}

/** Derives all rows. Rows of objects whose dependencies are the same are taken out of the memory. */
export function deriveRows(parts: RowSources, memory: RowMemory): Rows {
  const { caches, templates, cost } = parts;
  const exports = [...caches.exports.list()];
  const tenantIn = new Map(
    [...caches.tenants.list()]
      .filter(({ metadata }) => metadata.name === tenantName)
      .map((one) => [one.metadata.namespace ?? "", one] as const),
  );
  const problems: ProblemRow[] = [];
  const boundBy = Map.groupBy(exports, ({ metadata }) => metadata.name ?? "");
  const offers = memory.collect("offers", templates.list(), (template) => {
    const api = crdNameOf(template.spec.APIServiceSelector);
    const tenants = (boundBy.get(api) ?? []).map(({ metadata }) => metadata.namespace ?? "").toSorted();
    const plans = cost.plansOf(caches.crds.get(api));
    return {
      deps: [template, plans, tenants.join()],
      make: () => [offerRow(template, plans, tenants)],
    };
  });
  const { instances, counts } = instanceRows(parts, memory, problems);
  const clusters = memory.collect("clusters", caches.bindings.list(), (binding) => {
    const { namespace = "" } = binding.metadata;
    const tenant = tenantIn.get(namespace);
    const { claims = 0, notReady = 0, heldDeletions = 0 } = counts.get(namespace) ?? {};
    const apis = caches.exports
      .byIndex(byNamespace, namespace)
      .map(({ metadata }) => metadata.name ?? "")
      .toSorted();
    const facts = { apis, claims, notReady, heldDeletions };
    const deps = [binding, tenant, apis.join(), claims, notReady, heldDeletions];
    return { deps, make: () => [clusterRow(binding, tenant, facts)] };
  });
  const rollouts = [...caches.rollouts.list()];
  const readings = readKonnectors(caches.bindings.list(), rollouts, tenantIn, parts.time());
  const konnectors = memory.collect("konnectors", readings, (reading) => reading);
  const members = memory.collect("members", tenantIn.values(), (tenant) => ({
    deps: [tenant],
    make: () => memberRows(tenant),
  }));
  const grants = memory.collect("grants", caches.grants.list(), (grant) => ({
    deps: [grant],
    make: () => [grantRow(grant)],
  }));
  const audit = auditRows(parts, memory, tenantIn);
  for (const { row } of offers.values()) problems.push(...maybe(offerProblem(row)));
  for (const { row } of clusters.values()) problems.push(...maybe(clusterProblem(row)));
  for (const rollout of rollouts) problems.push(...maybe(rolloutProblem(rollout)));
  for (const tenant of tenantIn.values()) problems.push(...maybe(budgetProblem(tenant, clusters)));
  problems.push(...cost.problems());
  const worst = memory.collect("problems", problems.toSorted(problemOrder), (problem) => ({
    deps: [JSON.stringify(problem)],
    make: () => [problem],
  }));
  return { offers, clusters, konnectors, instances, members, grants, audit, problems: worst };
}

function auditRows(
  { caches, events }: RowSources,
  memory: RowMemory,
  tenantIn: ReadonlyMap<string, Tenant>,
): ReadonlyMap<string, Entry<AuditRow>> {
  const trusted = trustedEvents(
    events.list(),
    (namespace) => tenantIn.get(namespace),
    // A konnector of control-plane mode may write Events beside its AppClusterBinding.
    (namespace) => isOperators(caches.namespaces.get(namespace)),
  );
  const sources: readonly {
    readonly source: AuditEvent | Grant;
    readonly make: () => readonly AuditRow[];
  }[] = [
    ...trusted.map((source) => ({ source, make: () => [eventRow(source)] })),
    ...[...caches.grants.list()].map((source) => ({ source, make: () => maybe(grantedRow(source)) })),
  ];
  return memory.collect("audit", sources, ({ source, make }) => ({ deps: [source], make }));
}

function instanceRows(
  { caches, claims: kinds, cost }: RowSources,
  memory: RowMemory,
  problems: ProblemRow[],
): {
  readonly instances: ReadonlyMap<string, Entry<InstanceRow>>;
  readonly counts: ReadonlyMap<string, Counts>;
} {
  const places = placesOf(caches);
  const found: { type: Parameters<typeof instanceRow>[0]; claim: ClaimFacts }[] = [];
  for (const { type, claims } of kinds.caches.values())
    for (const claim of claims.list()) found.push({ type, claim });
  const ends = lastBackups(
    found.map(({ type, claim: { backup, metadata } }) => ({
      type,
      backup,
      namespace: metadata.namespace ?? "",
    })),
  );
  const facts = new Map<string, ClaimFacts>();
  const instances = memory.collect("instances", found, ({ type, claim }) => {
    const { namespace = "", name = "" } = claim.metadata;
    // The claim's own words count for nothing: the backend wrote the namespace.
    const place = places.get(namespace);
    if (place === undefined) return undefined;
    const id = `${crdNameOf({ group: type.group, resource: type.plural })}/${namespace}/${name}`;
    facts.set(id, claim);
    const lastBackup = ends.get(id);
    const perMonth = cost.perMonth(claim.service, claim.plan);
    return {
      deps: [claim, caches.namespaces.get(namespace), place.cluster, lastBackup, perMonth],
      make: () => [instanceRow(type, claim, place, { lastBackup, perMonth })],
    };
  });
  const counts = new Map<string, Counts>();
  for (const [id, { row }] of instances) {
    const count = counts.get(row.tenant) ?? { claims: 0, notReady: 0, heldDeletions: 0 };
    counts.set(row.tenant, count);
    count.claims++;
    if (row.health !== "well") count.notReady++;
    if (row.reason === "DeletionHeld") count.heldDeletions++;
    const claim = facts.get(id);
    if (claim !== undefined) problems.push(...maybe(instanceProblem(row, claim)));
  }
  return { instances, counts };
}

/** Returns where the claims of each service namespace belong. */
function placesOf({
  bindings,
  namespaces,
}: RowSources["caches"]): ReadonlyMap<string, Parameters<typeof instanceRow>[2]> {
  const names = new Map(
    [...bindings.list()].map(({ metadata: { namespace = "", annotations } }) => [
      namespace,
      displayName(annotations?.[clusterNameAnnotation]) ?? "",
    ]),
  );
  const places = new Map<string, Parameters<typeof instanceRow>[2]>();
  for (const { metadata } of namespaces.list()) {
    const owner = readServiceNamespaceOwner(metadata.annotations?.[serviceNamespaceAnnotation]);
    if (owner === undefined) continue;
    const { clusterNamespace: tenant, consumerNamespace: namespace } = owner;
    places.set(metadata.name ?? "", { tenant, namespace, cluster: names.get(tenant) ?? "" });
  }
  return places;
}

function maybe<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}
