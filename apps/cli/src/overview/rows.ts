/** Derives the rows of `klutch clusters`, `offers` and `top` from objects of the control plane. No I/O. */
import {
  type APIServiceExportTemplate,
  boundByAnnotation,
  clusterNameAnnotation,
  compareVersions,
  crdNameOf,
  displayName,
  klutchVersion,
  parseClusterBinding,
  plainText,
  serviceBackupsAnnotation,
  serviceTypeLabel,
  type Tenant,
  tenantName,
  versionNumbers,
  wantedKonnectorLabel,
} from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, numberAt, textAt } from "@klutch/kube-core";
import { clusterProblems, problemsOf, problemText, updateFault } from "@klutch/overview";
import { pricesText } from "@klutch/services";
import { noPlaces, type PlacesOf } from "./cluster-places.ts";
import type { PricesOf } from "./offer-prices.ts";
import type { RegionsOf } from "./offer-regions.ts";
import { ageOf, type Column, type Row } from "./table.ts";

export const clusterColumns: readonly Column[] = [
  { field: "tenant", title: "TENANT" },
  { field: "cluster", title: "CLUSTER" },
  { field: "owner", title: "OWNER", isWide: true },
  { field: "boundBy", title: "WHO", isWide: true },
  { field: "members", title: "MEMBERS", isWide: true },
  { field: "apis", title: "APIS" },
  { field: "version", title: "KONNECTOR" },
  { field: "wanted", title: "WANTED", isWide: true },
  { field: "follows", title: "FOLLOWS", isWide: true },
  { field: "regions", title: "REGIONS", isWide: true },
  { field: "brokers", title: "BROKERS", isWide: true },
  { field: "heartbeat", title: "HEARTBEAT" },
  { field: "state", title: "STATE" },
  { field: "problem", title: "PROBLEM" },
];

/** Returns a row for each app cluster, those with a problem first. */
export function clusterRows(
  bindings: readonly DynamicObject[],
  tenants: readonly Tenant[],
  now: number,
  placesOf: PlacesOf = noPlaces,
): readonly Row[] {
  const byNamespace = new Map(
    tenants
      .filter(({ metadata }) => metadata.name === tenantName)
      .map((one) => [one.metadata.namespace, one]),
  );
  const rows = bindings.map((binding): Row => {
    const { namespace = "", annotations } = binding.metadata;
    const { status, konnectorUpdates: updates, wantedKonnector } = parseClusterBinding(binding);
    const tenant = byNamespace.get(namespace);
    // A roll-out comes before the label, which only shows.
    const wanted = wantedKonnector ?? tenant?.metadata.labels?.[wantedKonnectorLabel];
    const [found] = clusterProblems(status.conditions ?? [], conditionsOf(tenant));
    const problem =
      found === undefined ? versionFault(namespace, wanted) || updateFault(updates) : problemText(found);
    const isPending = Number.isNaN(Date.parse(status.lastHeartbeatTime ?? ""));
    return {
      ref: `clusterbinding.klutch.anynines.com/${namespace}`,
      isWell: problem === "" && !isPending,
      fields: {
        tenant: namespace,
        cluster: displayName(annotations?.[clusterNameAnnotation]) ?? "",
        owner: displayName(tenant?.spec?.owner) ?? "",
        boundBy: displayName(annotations?.[boundByAnnotation]) ?? "",
        members: tenant?.status?.memberCount ?? 0,
        apis: numberAt(binding.status, "boundAPIs") ?? 0,
        version: plainText(status.konnectorVersion ?? "-", 40),
        heartbeat: ageOf(status.lastHeartbeatTime, now),
        wanted: plainText(wanted ?? "-", 40),
        follows: updates === undefined ? "-" : `${updates.line} from ${updates.floor}`,
        regions: namesText([...placesOf(namespace).regions]),
        brokers: namesText([...placesOf(namespace).brokers]),
        state:
          problem !== ""
            ? "problem"
            : isPending
              ? "pending"
              : isBehind(status.konnectorVersion, wanted)
                ? "behind"
                : "well",
        problem,
      },
    };
  });
  return sorted(rows, (row) => String(row.fields["tenant"]));
}

/** A konnector whose version no one can read is behind, too. */
function isBehind(version: string | undefined, wanted: string | undefined): boolean {
  const least = versionNumbers(wanted ?? "");
  if (least === undefined) return false;
  const own = versionNumbers(version ?? "");
  return own === undefined || compareVersions(own, least) < 0;
}

/** Returns the problem of the label; empty where it has none. */
function versionFault(namespace: string, wanted: string | undefined): string {
  if (wanted === undefined || versionNumbers(wanted) !== undefined) return "";
  return `label ${wantedKonnectorLabel} of Tenant ${namespace}/${tenantName} is ${JSON.stringify(plainText(wanted, 63))}, must be a version such as ${klutchVersion}`;
}

export const offerColumns: readonly Column[] = [
  { field: "api", title: "API" },
  { field: "kind", title: "KIND" },
  { field: "template", title: "TEMPLATE", isWide: true },
  { field: "valid", title: "VALID" },
  { field: "offered", title: "OFFERED" },
  { field: "clusters", title: "CLUSTERS" },
  { field: "price", title: "PRICE", isWide: true },
  { field: "regions", title: "REGIONS", isWide: true },
  { field: "backups", title: "BACKUPS", isWide: true },
  { field: "problem", title: "PROBLEM" },
];

/** Returns a row for each template, those with a problem first. */
export function offerRows(
  templates: readonly APIServiceExportTemplate[],
  pricesOf: PricesOf = () => [],
  regionsOf: RegionsOf = () => [],
): readonly Row[] {
  const rows = templates.map((template): Row => {
    const { metadata, spec, status } = template;
    const conditions = conditionsOf(template);
    const is = (type: string): string => findCondition(conditions, type)?.status ?? "Unknown";
    const [problem] = problemsOf(conditions);
    const template_ = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    return {
      ref: `apiserviceexporttemplate.example-backend.klutch.anynines.com/${metadata.name ?? ""}`,
      isWell: problem === undefined && is("Offered") === "True",
      fields: {
        api: crdNameOf(spec.APIServiceSelector),
        kind: status?.kind ?? "",
        template: template_,
        valid: is("Valid"),
        offered: is("Offered"),
        clusters: status?.boundClusters ?? 0,
        price: pricesText(pricesOf(crdNameOf(spec.APIServiceSelector))),
        regions: namesText(regionsOf(metadata.labels?.[serviceTypeLabel] ?? "")),
        backups: backupText(metadata),
        problem: problem === undefined ? "" : problemText(problem),
      },
    };
  });
  return sorted(rows, (row) => String(row.fields["api"]));
}

/** Returns whether the service of a template has backups; `-` for a template of no service. */
function backupText({ annotations, labels }: APIServiceExportTemplate["metadata"]): string {
  if (labels?.[serviceTypeLabel] === undefined) return "-";
  return annotations?.[serviceBackupsAnnotation] === "none" ? "none" : "yes";
}

export const topColumns: readonly Column[] = [
  { field: "tenant", title: "TENANT" },
  { field: "cluster", title: "CLUSTER" },
  { field: "claims", title: "CLAIMS" },
  { field: "notReady", title: "NOT READY" },
  { field: "errors", title: "ERRORS" },
  { field: "namespaces", title: "NAMESPACES", isWide: true },
  { field: "regions", title: "REGIONS", isWide: true },
  { field: "apis", title: "APIS" },
  { field: "lag", title: "LAG" },
];

/** Numbers of one tenant. */
export interface Load {
  claims: number;
  notReady: number;
  errors: number;
  readonly namespaces: Set<string>;
  /** Regions in which its instances were made, as far as their brokers have one. */
  readonly regions: Set<string>;
}

/** Longest name of a region, as a value of a label has it. */
const regionLimit = 63;
/** More regions of one tenant are left out. */
const mostRegions = 50;

/** Returns one cell with the names in order; `-` without any. */
export function namesText(names: readonly string[]): string {
  return names.length === 0 ? "-" : [...new Set(names)].toSorted().join(", ");
}

/** Counts a claim of the control plane for its tenant. */
export function count(load: Load, claim: DynamicObject): void {
  const conditions = conditionsOf(claim);
  const synced = ["klutch.anynines.com/Synced", "klutch.anynines.com/Composed", "Synced"];
  load.claims++;
  load.namespaces.add(claim.metadata.namespace ?? "");
  const region = plainText(textAt(claim, "status", "managed", "region") ?? "", regionLimit);
  if (region !== "" && load.regions.size < mostRegions) load.regions.add(region);
  if (findCondition(conditions, "Ready")?.status === "False") load.notReady++;
  if (synced.some((type) => findCondition(conditions, type)?.status === "False")) load.errors++;
}

/** Orders of `klutch top`. */
export const topOrders = ["claims", "errors", "notReady", "lag"] as const;
export type TopOrder = (typeof topOrders)[number];

/** Returns a row for each tenant, the largest number first. The lag is the age of the last heartbeat, by the backend's and this machine's clock. */
export function topRows(
  bindings: readonly DynamicObject[],
  loads: ReadonlyMap<string, Load>,
  order: TopOrder,
  now: number,
): readonly Row[] {
  const rows = bindings.map((binding) => {
    const { namespace = "", annotations } = binding.metadata;
    const { status } = parseClusterBinding(binding);
    const { claims = 0, notReady = 0, errors = 0, namespaces, regions } = loads.get(namespace) ?? {};
    const beat = Date.parse(status.lastHeartbeatTime ?? "");
    const lag = Number.isNaN(beat) ? Number.POSITIVE_INFINITY : now - beat;
    const weight = { claims, notReady, errors, lag }[order];
    const fields = {
      tenant: namespace,
      cluster: displayName(annotations?.[clusterNameAnnotation]) ?? "",
      claims,
      notReady,
      errors,
      namespaces: namespaces?.size ?? 0,
      regions: namesText([...(regions ?? [])]),
      apis: numberAt(binding.status, "boundAPIs") ?? 0,
      lag: ageOf(status.lastHeartbeatTime, now),
    };
    const ref = `clusterbinding.klutch.anynines.com/${namespace}`;
    return { weight, row: { ref, isWell: true, fields } };
  });
  return rows
    .toSorted((one, other) => other.weight - one.weight || (one.row.ref < other.row.ref ? -1 : 1))
    .map(({ row }) => row);
}

/** Orders rows by how bad they are, then by name. */
function sorted(rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const rank = ({ isWell, fields }: Row): number => (isWell ? 2 : fields["problem"] === "" ? 1 : 0);
  return rows.toSorted((one, other) => rank(one) - rank(other) || (keyOf(one) < keyOf(other) ? -1 : 1));
}
