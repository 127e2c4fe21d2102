/**
 * Reads price lists: the operator's own, and those that tables carry to the control plane. An operator's price always wins.
 *
 * A price holds from the month `from`, or from the beginning, until a later one of the same plan. So a new price changes no past month.
 */
import { monthPattern } from "@klutch/api";
import { listAt, recordAt, textAt } from "@klutch/kube-core";
import {
  accepts,
  describeProblem,
  list,
  object,
  oneOf,
  type Problem,
  problemsOf,
  type Schema,
  string,
  unknownFields,
  valueText,
} from "@klutch/schema";
import { type Price, priceFields, priceProblems } from "./price.ts";

/** The price of a plan from a month on. */
export interface PlanPrice {
  readonly service: string;
  readonly plan: string;
  /** `YYYY-MM`, in UTC. Default: from the beginning. */
  readonly from?: string | undefined;
  readonly price: Price;
}

/** `kind` of a price list. */
export const priceListKind = "PriceList";
/** ConfigMap of the operator's prices, in the namespace of Crossplane; its key is `priceListKey`. */
export const priceListName = "klutch-prices";
/** Namespace of that ConfigMap, unless a provider runs elsewhere. */
export const pricesNamespace = "crossplane-system";
export const priceListKey = "prices.yaml";
/** Annotation by which a Composition carries the prices of its table. */
export const pricesAnnotation = "klutch.anynines.com/prices";
const apiVersion = "services.klutch.anynines.com/v1alpha1";

interface PriceList {
  readonly apiVersion: typeof apiVersion;
  readonly kind: typeof priceListKind;
  readonly prices: readonly PlanPrice[];
}

const name: Schema<string> = string({ minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9][-._A-Za-z0-9]*$" });

const priceList: Schema<PriceList> = object({
  apiVersion: oneOf([apiVersion]),
  kind: oneOf([priceListKind]),
  prices: list(
    object({ service: name, plan: name, price: priceFields }, { from: string({ pattern: monthPattern }) }),
    { maxItems: 5_000 },
  ),
});

/** The prices of a list, or all its faults, each as a text that names the field, the value and the expected one. */
export interface PricesRead {
  readonly prices: readonly PlanPrice[];
  readonly faults: readonly string[];
}

/** Reads a list. With faults there are no prices: half a list would be a wrong bill. */
export function readPriceList(value: unknown): PricesRead {
  const shape = [...problemsOf(priceList.json, value), ...unknownFields(priceList.json, value)];
  const entries = listAt(value, "prices");
  const faults = [
    ...shape,
    ...entries.flatMap((entry, index) => priceProblems(recordAt(entry)["price"], `prices[${index}].price`)),
    ...repeatedPrices(entries),
  ];
  return faults.length > 0 || !accepts(priceList, value)
    ? { prices: [], faults: faults.map(describeProblem) }
    : { prices: value.prices, faults: [] };
}

function repeatedPrices(entries: readonly unknown[]): readonly Problem[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index) => {
    const texts = ["service", "plan", "from"].map((field) => textAt(entry, field) ?? "");
    const key = texts.join("/");
    const before = first.get(key);
    if (before === undefined) first.set(key, index);
    const expected = `one price for each plan and month; prices[${before ?? 0}] is for the same`;
    return before === undefined ? [] : [{ field: `prices[${index}]`, value: valueText(key), expected }];
  });
}

/** Writes the annotation of a Composition; undefined if no plan has a price. */
export function pricesText(
  services: readonly string[],
  prices: Readonly<Record<string, Price>>,
): string | undefined {
  const entries = Object.entries(prices);
  if (entries.length === 0) return undefined;
  const all = services.flatMap((service) => entries.map(([plan, price]) => ({ service, plan, price })));
  return JSON.stringify({ apiVersion, kind: priceListKind, prices: all });
}

/** Finds prices. */
export class PriceBook {
  readonly #prices: ReadonlyMap<string, readonly PlanPrice[]>;

  /** `own`: of the operator; a plan with one of these has no other. */
  constructor(own: readonly PlanPrice[], ofTables: readonly PlanPrice[] = []) {
    const keyOf = ({ service, plan }: PlanPrice): string => `${service}/${plan}`;
    this.#prices = new Map([...Map.groupBy(ofTables, keyOf), ...Map.groupBy(own, keyOf)]);
  }

  /** Returns the price in a month, `YYYY-MM`; undefined if the plan has none then. */
  at(service: string, plan: string, month: string): Price | undefined {
    const all = this.#prices.get(`${service}/${plan}`) ?? [];
    const held = all
      .filter(({ from = "" }) => from <= month)
      .toSorted((one, other) => ((one.from ?? "") < (other.from ?? "") ? 1 : -1));
    return held[0]?.price;
  }
}
