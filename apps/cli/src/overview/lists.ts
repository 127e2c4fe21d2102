/** `klutch clusters`, `klutch offers` and `klutch top`: a control plane on one screen, with the rights of the person who asks. */
import {
  type APIServiceExport,
  apiServiceExports,
  type APIServiceExportTemplate,
  apiServiceExportTemplates,
  clusterBindings,
  crdNameOf,
  readServiceNamespaceOwner,
  resourceNamed,
  serviceNamespaceAnnotation,
  type Tenant,
  tenants,
} from "@klutch/api";
import { discoverResource, isNotFound, type KubeClient } from "@klutch/kube";
import { type DynamicObject, type KubeObject, namespaces, type ResourceType } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { ControlPlane } from "../service/control-plane.ts";
import { listed } from "../tenants/read.ts";
import { noPlaces, readPlaces } from "./cluster-places.ts";
import { type PricesOf, readOfferPrices } from "./offer-prices.ts";
import { readRegions } from "./offer-regions.ts";
import {
  clusterColumns,
  clusterRows,
  count,
  type Load,
  offerColumns,
  offerRows,
  topColumns,
  type TopOrder,
  topRows,
} from "./rows.ts";
import { type Column, formatRows, type ListFormat, type Row } from "./table.ts";
import type { Look } from "./watch.ts";

/** Reads the app clusters. */
export async function lookAtClusters(
  context: CliContext,
  cluster: ControlPlane,
  format: ListFormat | undefined,
): Promise<Look> {
  await requireControlPlane(context, cluster);
  const [bindings, all] = await Promise.all([
    listed<DynamicObject>(context, cluster, clusterBindings),
    listed<Tenant>(context, cluster, tenants),
  ]);
  // The short table and the names show no places, so nothing is read for them.
  const showsPlaces = format !== undefined && format !== "name";
  const placesOf = showsPlaces
    ? await readPlaces(context, cluster, () => tenantsByNamespace(context, cluster))
    : noPlaces;
  return lookOf(clusterRows(bindings, all, context.clock.now(), placesOf), clusterColumns, format);
}

/** Returns the cluster namespaces of the namespaces in which app clusters have their claims. */
async function tenantsByNamespace(
  context: CliContext,
  cluster: ControlPlane,
): Promise<ReadonlyMap<string, string>> {
  const spaces = await listed<KubeObject>(context, cluster, namespaces);
  return new Map(
    spaces.map(({ metadata }) => [
      metadata.name ?? "",
      readServiceNamespaceOwner(metadata.annotations?.[serviceNamespaceAnnotation])?.clusterNamespace ?? "",
    ]),
  );
}

const noPrices: PricesOf = () => [];

/** Reads the templates. */
export async function lookAtOffers(
  context: CliContext,
  cluster: ControlPlane,
  format: ListFormat | undefined,
): Promise<Look> {
  await requireControlPlane(context, cluster);
  const templates = await listed<APIServiceExportTemplate>(context, cluster, apiServiceExportTemplates);
  // The short table and the names show no prices and regions, so nothing is read for them.
  const showsPrices = format !== undefined && format !== "name";
  const apis = templates.map(({ spec }) => crdNameOf(spec.APIServiceSelector));
  const pricesOf = showsPrices ? await readOfferPrices(context, cluster, apis) : noPrices;
  const regionsOf = showsPrices ? await readRegions(context, cluster) : undefined;
  return lookOf(offerRows(templates, pricesOf, regionsOf), offerColumns, format);
}

/** Counts the claims of each tenant, page by page. */
export async function lookAtLoad(
  context: CliContext,
  cluster: ControlPlane,
  format: ListFormat | undefined,
  order: TopOrder,
): Promise<Look> {
  await requireControlPlane(context, cluster);
  const [bindings, exports, tenantOf] = await Promise.all([
    listed<DynamicObject>(context, cluster, clusterBindings),
    listed<APIServiceExport>(context, cluster, apiServiceExports),
    tenantsByNamespace(context, cluster),
  ]);
  const loads = new Map<string, Load>();
  for (const name of new Set(exports.map(({ metadata }) => metadata.name ?? ""))) {
    for await (const claim of claimsOf(context, cluster, name)) {
      const tenant = tenantOf.get(claim.metadata.namespace ?? "") ?? "";
      if (tenant === "") continue;
      const load = loads.get(tenant) ?? {
        claims: 0,
        notReady: 0,
        errors: 0,
        namespaces: new Set(),
        regions: new Set(),
      };
      loads.set(tenant, load);
      count(load, claim);
    }
  }
  const rows = topRows(bindings, loads, order, context.clock.now());
  return lookOf(rows, topColumns, format);
}

/** An API whose kind is gone has none. */
async function* claimsOf(
  { signal }: CliContext,
  { client }: ControlPlane,
  name: string,
): AsyncGenerator<DynamicObject> {
  const { group, resource: plural } = resourceNamed(name);
  const type: ResourceType | undefined = await discoverResource(client, { group, plural }, { signal });
  if (type?.namespaced !== true) return;
  yield* client.listAll<DynamicObject>(type, { limit: 500, signal });
}

/** Throws `CliError` for a cluster without the kinds of a control plane, so that an empty list is never a wrong cluster. */
async function requireControlPlane({ signal }: CliContext, { client }: ControlPlane): Promise<void> {
  if (await serves(client, clusterBindings, signal)) return;
  throw new CliError(
    "Usage",
    "This cluster is no control plane of Klutch: it does not serve the kind ClusterBinding. Choose the control plane with --context or --kubeconfig; in an app cluster: klutch status.",
  );
}

/** Returns true if the cluster serves the kind. Throws the server's refusal if the person may not list it. */
export async function serves(client: KubeClient, type: ResourceType, signal: AbortSignal): Promise<boolean> {
  try {
    await client.list(type, { limit: 1, signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function lookOf(rows: readonly Row[], shown: readonly Column[], format: ListFormat | undefined): Look {
  return { text: formatRows(rows, shown, format), isWell: rows.every(({ isWell }) => isWell) };
}
