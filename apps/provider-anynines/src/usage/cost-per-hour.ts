/** Tells metrics what the existing instances and kept backups cost per hour, by the operator's price list. */
import {
  type Backup,
  backupUsageOf,
  existingPlanOf,
  monthAt,
  type ServiceInstance,
  type UsedPlan,
  usageNamespaceOf,
} from "@klutch/api";
import { isForbidden, type KubeClient, parseYaml } from "@klutch/kube";
import { configMaps, type DynamicObject, textAt } from "@klutch/kube-core";
import { Controller, type Reconcile, type Runtime } from "@klutch/kube-runtime";
import {
  backupCostOf,
  costOf,
  type PlanPrice,
  type Price,
  PriceBook,
  priceListKey,
  priceListName,
  readPriceList,
} from "@klutch/services";
import { otherValue, type Sample } from "@klutch/telemetry";
import * as declarations from "../metrics.ts";
import { readKeptBackups } from "./kept-backups.ts";
import { readMeasuredInstances } from "./measured-instances.ts";

/** Dependencies of `createPricesController`. */
export interface PricesOptions extends Runtime {
  readonly client: Pick<KubeClient, "find">;
  /** Namespace of the ConfigMap with the price list. */
  readonly namespace: string;
  /** The existing instances, as far as the caches show. */
  readonly instances: () => Iterable<ServiceInstance>;
  /** The existing Backups, as far as the caches show. */
  readonly backups: () => Iterable<Backup>;
  /** Tells whether a ProviderConfig has this key. */
  readonly hasConfig: (key: string) => boolean;
  /** Namespaces that metrics show each by itself. Default 50. */
  readonly mostNamespaces?: number | undefined;
}

const readAgainMs = 60_000;
/** Plans with series of their own, the dearest ones; the rest are `other`. */
const mostPlans = 100;

/** Labels of the metric. */
export type CostLabel = "service" | "plan" | "config" | "currency";

/** Reads the price list each minute. With a list that has faults there is no cost, and one warning for each version of it. */
export function createPricesController(options: PricesOptions): Controller {
  const { client, namespace, instances, backups, clock, hasConfig } = options;
  let prices: readonly PlanPrice[] = [];
  let warned: string | undefined;
  options.metrics.read(declarations.costPerHour, () =>
    costsOf(instances(), prices, { now: clock.now(), hasConfig }),
  );
  const { claimCostPerHour } = declarations;
  const topValues = { ...claimCostPerHour.topValues, claim_namespace: options.mostNamespaces ?? 50 };
  options.metrics.read({ ...claimCostPerHour, topValues }, () =>
    claimCostsOf(instances(), prices, clock.now()),
  );
  options.metrics.read(declarations.backupCostPerHour, () =>
    backupCostsOf(backups(), prices, { now: clock.now(), hasConfig }),
  );
  readKeptBackups(options.metrics, { backups, hasConfig });
  readMeasuredInstances(options.metrics, options);
  const reconcile: Reconcile = async (_key, { signal, logger }) => {
    const ref = { namespace, name: priceListName };
    let text: string | undefined;
    let read: ReturnType<typeof readPriceList> = { prices: [], faults: [] };
    try {
      text = textAt(await client.find<DynamicObject>(configMaps, ref, { signal }), "data", priceListKey);
      if (text !== undefined) read = pricesIn(text);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      text = error.message;
      read = { prices: [], faults: [text] };
    }
    prices = read.prices;
    if (read.faults.length > 0 && text !== warned)
      logger.warn("the price list has faults, so no cost is told", {
        namespace,
        faults: read.faults.slice(0, 3),
      });
    warned = text;
    return { requeueAfterMs: readAgainMs };
  };
  const controller = new Controller({ ...options, name: "prices", workers: 1, reconcile });
  controller.enqueue(priceListName);
  return controller;
}

function pricesIn(text: string): ReturnType<typeof readPriceList> {
  try {
    return readPriceList(parseYaml(text));
  } catch {
    return { prices: [], faults: ["it is not one YAML document"] };
  }
}

/** Time, and the ProviderConfigs that labels may name. */
type At = Pick<PricesOptions, "hasConfig"> & { readonly now: number };

/** Returns a sample for each plan at a broker that has a price and an instance. Labels come from the operator's list and ProviderConfigs only. */
export function costsOf(
  instances: Iterable<ServiceInstance>,
  prices: readonly PlanPrice[],
  at: At,
): readonly Sample<CostLabel>[] {
  if (prices.length === 0) return [];
  const sums = new CostSums(prices, at);
  for (const instance of instances) {
    const plan = existingPlanOf(instance);
    if (plan !== undefined) sums.add(plan, (price) => costOf(price, 3_600n));
  }
  return sums.samples();
}

/** Returns a sample for each existing instance whose plan has a price in this month. */
export function claimCostsOf(
  instances: Iterable<ServiceInstance>,
  prices: readonly PlanPrice[],
  now: number,
): readonly Sample<"claim_namespace" | "service" | "plan" | "currency">[] {
  if (prices.length === 0) return [];
  const [book, month] = [new PriceBook(prices), monthAt(now)];
  return [...instances].flatMap((instance) => {
    const existing = existingPlanOf(instance);
    if (existing === undefined) return [];
    const { service, plan } = existing;
    const price = book.at(service, plan, month);
    if (price === undefined) return [];
    const labels = {
      claim_namespace: usageNamespaceOf(instance) ?? "",
      service,
      plan,
      currency: price.currency,
    };
    return [{ labels, value: Number(costOf(price, 3_600n)) / 1_000_000 }];
  });
}

/** Returns a sample for each plan at a broker that has a price for backups and a kept backup of a known size. */
export function backupCostsOf(
  backups: Iterable<Backup>,
  prices: readonly PlanPrice[],
  at: At,
): readonly Sample<CostLabel>[] {
  if (prices.length === 0) return [];
  const sums = new CostSums(prices, at);
  for (const backup of backups) {
    const usage = backupUsageOf(backup);
    const { bytes, until } = usage ?? {};
    if (usage === undefined || bytes === undefined || until !== undefined) continue;
    sums.add(usage, (price) => backupCostOf(price, BigInt(bytes) * 3_600n));
  }
  return sums.samples();
}

/** Adds the costs of an hour up. */
class CostSums {
  readonly #book: PriceBook;
  readonly #month: string;
  readonly #hasConfig: At["hasConfig"];
  readonly #sums = new Map<string, { readonly labels: Record<CostLabel, string>; readonly micros: bigint }>();

  constructor(prices: readonly PlanPrice[], { now, hasConfig }: At) {
    this.#book = new PriceBook(prices);
    this.#month = monthAt(now);
    this.#hasConfig = hasConfig;
  }

  /** Adds the cost by the plan's price of this month; nothing without one. */
  add({ service, plan, config: key }: UsedPlan, micros: (price: Price) => bigint | undefined): void {
    const price = this.#book.at(service, plan, this.#month);
    const cost = price === undefined ? undefined : micros(price);
    if (price === undefined || cost === undefined) return;
    const config = this.#hasConfig(key) ? key : otherValue;
    this.#add({ service, plan, config, currency: price.currency }, cost);
  }

  samples(): readonly Sample<CostLabel>[] {
    const dearest = [...this.#sums.values()].toSorted((one, another) =>
      one.micros < another.micros ? 1 : -1,
    );
    for (const { labels, micros } of dearest.slice(mostPlans)) {
      this.#sums.delete(JSON.stringify(labels));
      this.#add({ ...labels, service: otherValue, plan: otherValue, config: otherValue }, micros);
    }
    return [...this.#sums.values()].map(({ labels, micros }) => ({
      labels,
      value: Number(micros) / 1_000_000,
    }));
  }

  #add(labels: Record<CostLabel, string>, micros: bigint): void {
    const key = JSON.stringify(labels);
    this.#sums.set(key, { labels, micros: (this.#sums.get(key)?.micros ?? 0n) + micros });
  }
}
