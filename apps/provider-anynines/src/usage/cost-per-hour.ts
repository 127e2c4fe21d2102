/** Tells metrics what the existing instances cost per hour, by the operator's price list. */
import { missingSince, monthAt, type ServiceInstance, usageOf } from "@klutch/api";
import { isForbidden, type KubeClient, parseYaml } from "@klutch/kube";
import { configMaps, type DynamicObject, textAt } from "@klutch/kube-core";
import { Controller, type Reconcile, type Runtime } from "@klutch/kube-runtime";
import {
  costOf,
  type PlanPrice,
  PriceBook,
  priceListKey,
  priceListName,
  readPriceList,
} from "@klutch/services";
import { otherValue, type Sample } from "@klutch/telemetry";
import * as declarations from "../metrics.ts";

/** Dependencies of `createPricesController`. */
export interface PricesOptions extends Runtime {
  readonly client: Pick<KubeClient, "find">;
  /** Namespace of the ConfigMap with the price list. */
  readonly namespace: string;
  /** The existing instances, as far as the caches show. */
  readonly instances: () => Iterable<ServiceInstance>;
  /** Tells whether a ProviderConfig has this key. */
  readonly hasConfig: (key: string) => boolean;
}

const readAgainMs = 60_000;
/** Plans with series of their own, the dearest ones; the rest are `other`. */
const mostPlans = 100;

/** Labels of the metric. */
export type CostLabel = "service" | "plan" | "config" | "currency";

/** Reads the price list each minute. With a list that has faults there is no cost, and one warning for each version of it. */
export function createPricesController(options: PricesOptions): Controller {
  const { client, namespace, instances, clock, hasConfig } = options;
  let prices: readonly PlanPrice[] = [];
  let warned: string | undefined;
  options.metrics.read(declarations.costPerHour, () =>
    costsOf(instances(), prices, { now: clock.now(), hasConfig }),
  );
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

/** Returns a sample for each plan at a broker that has a price and an instance. Labels come from the operator's list and ProviderConfigs only. */
export function costsOf(
  instances: Iterable<ServiceInstance>,
  prices: readonly PlanPrice[],
  { now, hasConfig }: Pick<PricesOptions, "hasConfig"> & { readonly now: number },
): readonly Sample<CostLabel>[] {
  if (prices.length === 0) return [];
  const book = new PriceBook(prices);
  const month = monthAt(now);
  const sums = new Map<string, { readonly labels: Record<CostLabel, string>; readonly micros: bigint }>();
  const add = (labels: Record<CostLabel, string>, micros: bigint): void => {
    const key = JSON.stringify(labels);
    sums.set(key, { labels, micros: (sums.get(key)?.micros ?? 0n) + micros });
  };
  for (const instance of instances) {
    const { open } = usageOf(instance);
    const price = open === undefined ? undefined : book.at(open.service, open.plan, month);
    if (open === undefined || price === undefined || missingSince(instance) !== undefined) continue;
    const { service, plan } = open;
    const config = hasConfig(open.config) ? open.config : otherValue;
    add({ service, plan, config, currency: price.currency }, costOf(price, 3_600n));
  }
  const dearest = [...sums.values()].toSorted((one, another) => (one.micros < another.micros ? 1 : -1));
  for (const { labels, micros } of dearest.slice(mostPlans)) {
    sums.delete(JSON.stringify(labels));
    add({ ...labels, service: otherValue, plan: otherValue, config: otherValue }, micros);
  }
  return [...sums.values()].map(({ labels, micros }) => ({ labels, value: Number(micros) / 1_000_000 }));
}
