/**
 * Keeps the console's rows: each is derived once, when an object that it depends on has changed, and shared by all who look. A row that comes out
 * the same keeps its text, so that a comparison finds what changed.
 */
import type { KubeObject } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import {
  type AuditEvent,
  type Collection,
  grantPrefix,
  type InstanceRow,
  type ProblemRow,
} from "@klutch/overview";
import { deriveRows, type Rows, type RowSources } from "./board-rows.ts";
import type { ConsoleClaims } from "./claims.ts";
import type { ConsoleCost } from "./cost.ts";
import { instancesOf, type Rights } from "./rights.ts";
import { type Entry, RowMemory } from "./row-memory.ts";

/** Texts of rows by their ids, in the order of the page. The same object as long as nothing changed. */
export type Texts = ReadonlyMap<string, string>;

/** Sources of the rows, and what tells that they have changed. */
export interface BoardParts extends RowSources {
  readonly claims: Pick<ConsoleClaims, "caches" | "onChange">;
  readonly cost: Pick<ConsoleCost, "visible" | "perMonth" | "plansOf" | "problems" | "onPrices">;
  readonly events: Pick<Informer<AuditEvent>, "list" | "onChange">;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Rows are derived at most this often. */
const restMs = 1_000;

/** The rows of one replica. */
export class Board {
  readonly #parts: BoardParts;
  readonly #memory = new RowMemory();
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
    this.#rows = deriveRows(this.#parts, this.#memory);
    return this.#rows;
  }
}

/** Fields that decide who may see a row. */
interface Shown {
  readonly id: string;
  readonly tenant: string;
  readonly api?: string;
}

const nothing: Texts = new Map();

function textsOf<R>(entries: ReadonlyMap<string, Entry<R>>, isShown: (row: R) => boolean): Texts {
  const texts = new Map<string, string>();
  for (const [id, { row, text }] of entries) if (isShown(row)) texts.set(id, text);
  return texts;
}
