/** Prices of plans, as the operator's list and the tables in the control plane say them at this moment. A list with a fault gives no price at all. */
import { monthAt, plainText } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import {
  monthlyMoney,
  type MonthlyPrice,
  offeredNames,
  offeredPrices,
  type OfferedPrice,
  type Price,
  PriceBook,
  priceBookOf,
  PriceError,
  pricesOfConfigMap,
} from "@klutch/services/prices";
import type { PricedPlan } from "../offered-api.ts";
import type { CostSources } from "./sources.ts";

/** Prices as they were read last. */
interface Priced {
  readonly book: PriceBook;
  readonly fault: string | undefined;
  /** Amounts of a month by their price. */
  readonly known: Map<Price, MonthlyPrice>;
  /** Plans by CustomResourceDefinition. Objects of a cache never change: another one is another object. */
  readonly plans: WeakMap<KubeObject, { readonly month: string; readonly plans: readonly PricedPlan[] }>;
}

const noPlans: readonly PricedPlan[] = [];

/** The prices of one replica. */
export class Prices {
  readonly #sources: Pick<CostSources, "compositions" | "prices" | "onPrices">;
  readonly #clock: Pick<Clock, "now">;
  #read: Priced | undefined;

  constructor(sources: Pick<CostSources, "compositions" | "prices" | "onPrices">, clock: Pick<Clock, "now">) {
    this.#sources = sources;
    this.#clock = clock;
    this.onChange(() => (this.#read = undefined));
  }

  /** Calls `handler` after each change of prices. */
  onChange(handler: () => void): void {
    this.#sources.onPrices(handler);
  }

  get book(): PriceBook {
    return this.#current().book;
  }

  /** Says why there are no prices, and names each fault; undefined without one. */
  get fault(): string | undefined {
    return this.#current().fault;
  }

  /** Returns the price of a plan for a month of 730 hours at this moment; undefined if it has none. The same object as long as the price is the same. */
  perMonth(service: string, plan: string): MonthlyPrice | undefined {
    const { book, known } = this.#current();
    const price = book.at(service, plan, this.#month());
    if (price === undefined) return undefined;
    const money = known.get(price) ?? monthlyMoney(price);
    known.set(price, money);
    return money;
  }

  /** Returns the plans of an offered kind with their prices; a plan whose services differ stands once for each price. Bounded, on one line each. */
  plansOf(crd: KubeObject | undefined): readonly PricedPlan[] {
    if (crd === undefined) return noPlans;
    const { book, plans: known } = this.#current();
    const month = this.#month();
    const before = known.get(crd);
    if (before?.month === month) return before.plans;
    const names = offeredNames(crd);
    const prices = Map.groupBy(offeredPrices(names, book, month), ({ plan }) => plan);
    const plans = names.plans.flatMap((plan): readonly PricedPlan[] => {
      const priced = prices.get(plan) ?? [];
      const name = word(plan);
      return priced.length === 0
        ? [{ name, services: [], perMonth: undefined }]
        : priced.map((one: OfferedPrice) => ({
            name,
            services: one.services.map(word),
            perMonth: one.perMonth,
          }));
    });
    known.set(crd, { month, plans });
    return plans;
  }

  #month(): string {
    return monthAt(this.#clock.now());
  }

  #current(): Priced {
    return (this.#read ??= { ...this.#readBook(), known: new Map(), plans: new WeakMap() });
  }

  #readBook(): Pick<Priced, "book" | "fault"> {
    const { compositions, prices } = this.#sources;
    try {
      const book = priceBookOf(pricesOfConfigMap([...prices.list()][0]), [...compositions.list()]);
      return { book, fault: undefined };
    } catch (error) {
      if (!(error instanceof PriceError)) throw error;
      return { book: new PriceBook([]), fault: error.message };
    }
  }
}

function word(text: string): string {
  return plainText(text, 100);
}
