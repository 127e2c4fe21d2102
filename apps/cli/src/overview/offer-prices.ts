/** Prices of offered plans, as lists show them. */
import { monthAt, type SessionPrice } from "@klutch/api";
import { customResourceDefinitions, type KubeObject } from "@klutch/kube-core";
import { isForbidden } from "@klutch/kube";
import { offeredNames, offeredPrices, pricesNamespace } from "@klutch/services";
import type { CliContext } from "../context.ts";
import { readPrices } from "../cost/prices.ts";
import { CliError } from "../errors.ts";
import type { ControlPlane } from "../service/control-plane.ts";

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
