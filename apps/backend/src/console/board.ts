/**
 * Keeps the console's rows: each is derived once, when an object that it depends on has changed, and shared by all who look. A row that comes out
 * the same keeps its text, so that a comparison finds what changed.
 */
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
import type { KubeObject } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import {
  type AuditEvent,
  type AuditRow,
  budgetProblem,
  type ClaimFacts,
  clusterProblem,
  clusterRow,
  type Collection,
  eventRow,
  grantedRow,
  grantPrefix,
  grantRow,
  instanceProblem,
  type InstanceRow,
  instanceRow,
  lastBackups,
  memberRows,
  offerProblem,
  offerRow,
  type OfferRow,
  problemOrder,
  rolloutProblem,
  type ProblemRow,
  type RowOf,
  trustedEvents,
} from "@klutch/overview";
import { byNamespace, type Caches, isOperators } from "../controller-context.ts";
import type { ConsoleClaims } from "./claims.ts";
import type { ConsoleCost } from "./cost.ts";
import { readKonnectors } from "./konnector-rows.ts";
import { instancesOf, type Rights } from "./rights.ts";

/** A row with the text that is sent. */
export interface Entry<R = RowOf[Collection]> {
  readonly row: R;
  readonly text: string;
}

/** Texts of rows by their ids, in the order of the page. The same object as long as nothing changed. */
export type Texts = ReadonlyMap<string, string>;

/** Sources of the rows. */
export interface BoardParts {
  readonly caches: Pick<
    Caches,
    "bindings" | "exports" | "tenants" | "grants" | "namespaces" | "crds" | "rollouts"
  >;
  readonly templates: Informer<APIServiceExportTemplate>;
  readonly claims: Pick<ConsoleClaims, "caches" | "onChange">;
  readonly cost: Pick<ConsoleCost, "visible" | "perMonth" | "plansOf" | "problems" | "onPrices">;
  /** Events on Tenants. */
  readonly events: Pick<Informer<AuditEvent>, "list" | "onChange">;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly time: () => number;
}

/** Rows are derived at most this often. */
const restMs = 1_000;

interface Rows {
  readonly offers: ReadonlyMap<string, Entry<OfferRow>>;
  readonly clusters: ReadonlyMap<string, Entry<RowOf["clusters"]>>;
  readonly konnectors: ReadonlyMap<string, Entry<RowOf["konnectors"]>>;
  readonly instances: ReadonlyMap<string, Entry<InstanceRow>>;
  readonly members: ReadonlyMap<string, Entry<RowOf["members"]>>;
  readonly grants: ReadonlyMap<string, Entry<RowOf["grants"]>>;
  readonly audit: ReadonlyMap<string, Entry<AuditRow>>;
  readonly problems: ReadonlyMap<string, Entry<ProblemRow>>;
}

/** The rows of one replica. */
export class Board {
  readonly #parts: BoardParts;
  /** The rows of the last time by their ids, and by the object that they were derived from. */
  readonly #before = new Map<Collection, ReadonlyMap<string, Entry>>();
  readonly #bySource = new Map<Collection, WeakMap<object, Known>>();
  #isDirty = true;
  #damage: readonly ProblemRow[] | undefined;
  #derivedAt = Number.NEGATIVE_INFINITY;
  #rows: Rows | undefined;
  /** Results of `visible` for rights that are in use. */
  readonly #seen = new WeakMap<Rights, { readonly rows: Rows; readonly texts: Map<Collection, Texts> }>();
  /** Texts for those who see all of a collection. */
  #whole = new Map<Collection, { readonly rows: object; readonly texts: Texts }>();

  constructor(parts: BoardParts) {
    this.#parts = parts;
    const { bindings, exports, tenants, grants, namespaces, crds, rollouts } = parts.caches;
    const soil = (): void => void (this.#isDirty = true);
    for (const one of [bindings, exports, tenants, grants, namespaces, crds, rollouts, parts.templates])
      (one as Informer<KubeObject>).onChange(soil);
    parts.claims.onChange(soil);
    parts.events.onChange(soil);
    parts.cost.onPrices(soil);
  }

  /** Returns what a person with these rights may see of a collection: for the same object of rights the same texts, until any row changes. */
  visible(collection: Collection, rights: Rights): Texts {
    if (collection === "cost") return this.#parts.cost.visible(rights);
    const rows = this.#current();
    const known = this.#seen.get(rights);
    const seen = known?.rows === rows ? known : { rows, texts: new Map<Collection, Texts>() };
    this.#seen.set(rights, seen);
    const texts = seen.texts.get(collection) ?? this.#filtered(rows, collection, rights);
    seen.texts.set(collection, texts);
    return texts;
  }

  #filtered(rows: Rows, collection: Exclude<Collection, "cost">, rights: Rights): Texts {
    if (!rights.viewer.collections.includes(collection)) return nothing;
    const { all, tenants, templates } = rights;
    const isAll = (name: Collection, row: { readonly id?: string; readonly api?: string } = {}): boolean => {
      if (name === "audit" && row.id?.startsWith(grantPrefix)) return all.has("grants");
      return all.has(name === "instances" ? instancesOf(row.api ?? "") : name);
    };
    if (collection === "offers") return this.#offers(rows, rights);
    if (collection === "problems") {
      return textsOf(rows.problems, ({ about, tenant }) => {
        if (about.collection === "offers") return isAll("offers") || templates.has(about.id);
        if (about.collection === "cost") return isAll("cost");
        const api = about.collection === "instances" ? about.id.split("/")[0] : undefined;
        return isAll(about.collection, api === undefined ? {} : { api }) || tenants.has(tenant);
      });
    }
    const entries: ReadonlyMap<string, Entry<Shown>> = rows[collection];
    const kinds = [...this.#parts.claims.caches.keys()];
    const isWhole =
      collection === "instances"
        ? kinds.every((api) => isAll("instances", { api }))
        : isAll(collection) && (collection !== "audit" || isAll("grants"));
    if (!isWhole) return textsOf(entries, (row) => isAll(collection, row) || tenants.has(row.tenant));
    const known = this.#whole.get(collection);
    if (known?.rows === entries) return known.texts;
    const texts = textsOf(entries, () => true);
    this.#whole.set(collection, { rows: entries, texts });
    return texts;
  }

  /** Returns the claims of these names that a person may see. */
  claimsOf(rights: Rights, asked: Pick<InstanceRow, "api" | "namespace" | "name">): readonly InstanceRow[] {
    const found = [...this.#current().instances.values()].map(({ row }) => row);
    return found.filter(
      (row) =>
        row.api === asked.api &&
        row.namespace === asked.namespace &&
        row.name === asked.name &&
        (rights.all.has(instancesOf(row.api)) || rights.tenants.has(row.tenant)),
    );
  }

  #offers({ offers }: Rows, { all, tenants, templates }: Rights): Texts {
    const [seesOffers, seesClusters] = [all.has("offers"), all.has("clusters")];
    const texts = new Map<string, string>();
    for (const [id, { row, text }] of offers) {
      if (!seesOffers && !templates.has(id)) continue;
      const boundBy = row.boundBy.filter((tenant) => tenants.has(tenant));
      texts.set(id, seesClusters ? text : JSON.stringify({ ...row, boundBy }));
    }
    return texts;
  }

  #current(): Rows {
    const now = this.#parts.now();
    const damage = this.#parts.cost.problems();
    if (damage !== this.#damage) this.#isDirty = true;
    this.#damage = damage;
    if (this.#rows !== undefined && (!this.#isDirty || now - this.#derivedAt < restMs)) return this.#rows;
    this.#isDirty = false;
    this.#derivedAt = now;
    this.#rows = this.#derive();
    return this.#rows;
  }

  #derive(): Rows {
    const { caches, templates, cost } = this.#parts;
    const exports = [...caches.exports.list()];
    const tenantIn = new Map(
      [...caches.tenants.list()]
        .filter(({ metadata }) => metadata.name === tenantName)
        .map((one) => [one.metadata.namespace ?? "", one] as const),
    );
    const problems: ProblemRow[] = [];
    const boundBy = Map.groupBy(exports, ({ metadata }) => metadata.name ?? "");
    const offers = this.#collect("offers", templates.list(), (template) => {
      const api = crdNameOf(template.spec.APIServiceSelector);
      const tenants = (boundBy.get(api) ?? []).map(({ metadata }) => metadata.namespace ?? "").toSorted();
      const plans = cost.plansOf(caches.crds.get(api));
      return {
        deps: [template, plans, tenants.join()],
        make: () => [offerRow(template, plans, tenants)],
      };
    });
    const { instances, counts } = this.#instances(problems);
    const clusters = this.#collect("clusters", caches.bindings.list(), (binding) => {
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
    const readings = readKonnectors(caches.bindings.list(), rollouts, tenantIn, this.#parts.time());
    const konnectors = this.#collect("konnectors", readings, (reading) => reading);
    const members = this.#collect("members", tenantIn.values(), (tenant) => ({
      deps: [tenant],
      make: () => memberRows(tenant),
    }));
    const grants = this.#collect("grants", caches.grants.list(), (grant) => ({
      deps: [grant],
      make: () => [grantRow(grant)],
    }));
    const audit = this.#audit(tenantIn);
    for (const { row } of offers.values()) problems.push(...maybe(offerProblem(row)));
    for (const { row } of clusters.values()) problems.push(...maybe(clusterProblem(row)));
    for (const rollout of rollouts) problems.push(...maybe(rolloutProblem(rollout)));
    for (const tenant of tenantIn.values()) problems.push(...maybe(budgetProblem(tenant, clusters)));
    problems.push(...cost.problems());
    const worst = this.#collect("problems", problems.toSorted(problemOrder), (problem) => ({
      deps: [JSON.stringify(problem)],
      make: () => [problem],
    }));
    return { offers, clusters, konnectors, instances, members, grants, audit, problems: worst };
  }

  #audit(tenantIn: ReadonlyMap<string, Tenant>): ReadonlyMap<string, Entry<AuditRow>> {
    const { caches, events } = this.#parts;
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
    return this.#collect("audit", sources, ({ source, make }) => ({ deps: [source], make }));
  }

  #instances(problems: ProblemRow[]): {
    readonly instances: ReadonlyMap<string, Entry<InstanceRow>>;
    readonly counts: ReadonlyMap<string, { claims: number; notReady: number; heldDeletions: number }>;
  } {
    const { caches, claims: kinds, cost } = this.#parts;
    const places = this.#places();
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
    const instances = this.#collect("instances", found, ({ type, claim }) => {
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
    const counts = new Map<string, { claims: number; notReady: number; heldDeletions: number }>();
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
  #places(): ReadonlyMap<string, Parameters<typeof instanceRow>[2]> {
    const { bindings, namespaces } = this.#parts.caches;
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

  /** Derives the rows of a collection. Rows of objects whose dependencies are the same are taken as they were. */
  #collect<C extends Collection, S>(
    collection: C,
    sources: Iterable<S>,
    read: (
      source: S,
    ) => { readonly deps: readonly unknown[]; readonly make: () => readonly RowOf[C][] } | undefined,
  ): ReadonlyMap<string, Entry<RowOf[C]>> {
    const before = this.#before.get(collection);
    const bySource = this.#bySource.get(collection) ?? new WeakMap<object, Known>();
    this.#bySource.set(collection, bySource);
    const entries = new Map<string, Entry<RowOf[C]>>();
    for (const source of sources) {
      const reading = read(source);
      if (reading === undefined) continue;
      const { deps, make } = reading;
      const key = sourceOf(deps);
      const known = key === undefined ? undefined : bySource.get(key);
      const isSame = known !== undefined && known.deps.every((one, index) => one === deps[index]);
      const made = isSame ? known.entries : make().map((row): Entry => entryOf(row, before?.get(row.id)));
      if (key !== undefined && !isSame) bySource.set(key, { deps, entries: made });
      for (const entry of made) entries.set(entry.row.id, entry as Entry<RowOf[C]>);
    }
    this.#before.set(collection, entries);
    return entries;
  }
}

/** Fields that decide who may see a row. */
interface Shown {
  readonly id: string;
  readonly tenant: string;
  readonly api?: string;
}

/** Rows of one object, and all that they were derived from. */
interface Known {
  readonly deps: readonly unknown[];
  readonly entries: readonly Entry[];
}

const nothing: Texts = new Map();

function maybe<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}

function sourceOf([first]: readonly unknown[]): object | undefined {
  return typeof first === "object" && first !== null ? first : undefined;
}

function entryOf<R extends RowOf[Collection]>(row: R, before: Entry | undefined): Entry {
  const text = JSON.stringify(row);
  return before?.text === text ? before : { row, text };
}

function textsOf<R>(entries: ReadonlyMap<string, Entry<R>>, isShown: (row: R) => boolean): Texts {
  const texts = new Map<string, string>();
  for (const [id, { row, text }] of entries) if (isShown(row)) texts.set(id, text);
  return texts;
}
