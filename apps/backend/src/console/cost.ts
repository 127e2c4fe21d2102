/** Rows of this month's bill for the console. The bill is calculated when someone looks, at most once a minute (`cost/month-bill.ts`). */
import type { KubeObject } from "@klutch/kube-core";
import {
  backupSizeProblem,
  type CostRow,
  ledgerProblem,
  type Money,
  type OfferRow,
  type ProblemRow,
} from "@klutch/overview";
import type { Month, MonthBill } from "../cost/month-bill.ts";
import type { Prices } from "../cost/prices.ts";
import type { PricedPlan } from "../offered-api.ts";
import { costRows } from "./cost-rows.ts";
import type { Rights } from "./rights.ts";

/** Parts of the rows. */
export interface CostParts {
  readonly prices: Pick<Prices, "perMonth" | "plansOf" | "onChange">;
  readonly bill: Pick<MonthBill, "current">;
}

interface CostEntry {
  readonly row: CostRow;
  readonly text: string;
}

/** Damaged ledgers, and backups whose size is in doubt, that are shown; the last one tells how many more there are. */
const mostShown = 20;
const noRows: readonly ProblemRow[] = [];

/** The rows of one replica. */
export class ConsoleCost {
  readonly #parts: CostParts;
  #month: Month | undefined;
  #entries: readonly CostEntry[] = [];
  #problems: readonly ProblemRow[] = [];
  /** Results of `visible` for rights that are in use. */
  #seen = new WeakMap<Rights, ReadonlyMap<string, string>>();
  readonly #plans = new WeakMap<readonly PricedPlan[], OfferRow["plans"]>();

  constructor(parts: CostParts) {
    this.#parts = parts;
  }

  /** Calls `handler` after each change of prices. */
  onPrices(handler: () => void): void {
    this.#parts.prices.onChange(handler);
  }

  /** Returns the price of a plan for a month of 730 hours at this moment; undefined if it has none. */
  perMonth(service: string, plan: string): Money | undefined {
    return this.#parts.prices.perMonth(service, plan);
  }

  /** Returns the plans of an offered kind with their prices: the same object until the kind or prices change. */
  plansOf(crd: KubeObject | undefined): OfferRow["plans"] {
    const plans = this.#parts.prices.plansOf(crd);
    const rows = this.#plans.get(plans) ?? plans.map(planRow);
    this.#plans.set(plans, rows);
    return rows;
  }

  /** Returns the texts of the rows that a person with these rights may see, by their ids: the same object until the bill changes. */
  visible(rights: Rights): ReadonlyMap<string, string> {
    this.#update();
    const known = this.#seen.get(rights);
    if (known !== undefined) return known;
    const { all, tenants, viewer } = rights;
    const isOpen = viewer.collections.includes("cost");
    const shown = this.#entries.filter(({ row }) => isOpen && (all.has("cost") || tenants.has(row.tenant)));
    const texts = new Map(shown.map(({ row, text }) => [row.id, text]));
    this.#seen.set(rights, texts);
    return texts;
  }

  /**
   * Returns the damaged ledgers, and the backups whose size is in doubt: the same object until the bill changes. They are for those who may list
   * ledgers.
   */
  problems(): readonly ProblemRow[] {
    this.#update();
    return this.#problems;
  }

  #update(): void {
    const month = this.#parts.bill.current();
    if (month === this.#month) return;
    this.#month = month;
    this.#entries = costRows(month.lines, month.idle).map((row) => ({ row, text: JSON.stringify(row) }));
    this.#seen = new WeakMap();
    const { damaged, doubtful } = month;
    const rows = [...bounded(damaged, ledgerProblem), ...bounded(doubtful, backupSizeProblem)];
    this.#problems = rows.length === 0 ? noRows : rows;
  }
}

function bounded<T>(all: readonly T[], rowOf: (one: T, more: number) => ProblemRow): readonly ProblemRow[] {
  return all
    .slice(0, mostShown)
    .map((one, index) => rowOf(one, index === mostShown - 1 ? all.length - mostShown : 0));
}

function planRow({ name, services, perMonth }: PricedPlan): OfferRow["plans"][number] {
  const words = services.length === 0 ? "" : `with ${services.join(", ")}`;
  return { name, words, ...(perMonth !== undefined && { perMonth }) };
}
