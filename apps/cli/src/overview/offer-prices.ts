/** Prices of offered plans, as lists show them. */
import { monthAt, type SessionPrice } from "@klutch/api";
import { customResourceDefinitions, type KubeObject } from "@klutch/kube-core";
import { isForbidden } from "@klutch/kube";
import { offeredNames, offeredPrices, pricesNamespace } from "@klutch/services";
import type { CliContext } from "../context.ts";
import { readPrices } from "../cost/prices.ts";
import { CliError } from "../errors.ts";
import type { ControlPlane } from "../service/control-plane.ts";

/** Prices in a cell; further ones are counted. */
const mostShown = 50;

/** Returns one cell, such as `small 25.00 EUR, big 90.00 EUR (pg17)`; `-` without prices. */
export function priceText(prices: readonly SessionPrice[]): string {
  if (prices.length === 0) return "-";
  const words = prices.slice(0, mostShown).map(({ plan, services, perMonth }) => {
    const { amount, currency, backupGiB } = perMonth;
    const backups = backupGiB === undefined ? "" : ` + ${backupGiB} per GiB of backups`;
    const only = services.length === 0 ? "" : ` (${services.join(" ")})`;
    return `${plan} ${amount} ${currency}${backups}${only}`;
  });
  const more = prices.length > mostShown ? [`${prices.length - mostShown} more`] : [];
  return [...words, ...more].join(", ");
}

/** Finds the prices of a kind, which is named `<plural>.<group>`. */
export type PricesOf = (api: string) => readonly SessionPrice[];

/** Reads the prices of these APIs, `<plural>.<group>`, with the caller's rights. A person who may not read them, or a price list with a fault, gives none; a line says so. */
export async function readOfferPrices(
  context: CliContext,
  cluster: ControlPlane,
  apis: readonly string[],
): Promise<PricesOf> {
  try {
    const book = await readPrices(context, cluster, { path: undefined, namespace: pricesNamespace });
    const month = monthAt(context.clock.now());
    const prices = new Map<string, readonly SessionPrice[]>();
    // One after the other: a control plane has hundreds of kinds, and offers few.
    for (const name of new Set(apis)) {
      const { signal } = context;
      const crd = await cluster.client.find<KubeObject>(customResourceDefinitions, { name }, { signal });
      prices.set(name, offeredPrices(offeredNames(crd), book, month));
    }
    return (api) => prices.get(api) ?? [];
  } catch (error) {
    if (!(error instanceof CliError) && !isForbidden(error)) throw error;
    context.terminal.say(`No prices are shown: ${error instanceof Error ? error.message : String(error)}`);
    return () => [];
  }
}
