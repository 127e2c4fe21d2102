/** Wires what a backend knows of cost: prices in each replica, and the bill where someone needs it. */
import type { Clock, KubeClient } from "@klutch/kube";
import { type ManagerPart, untilAborted } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { watching } from "../watching.ts";
import { MonthBill } from "./month-bill.ts";
import { Prices } from "./prices.ts";
import { type CostSources, watchCost } from "./sources.ts";

/** Prices and the bill of one process. */
export interface Cost {
  readonly prices: Prices;
  readonly bill: MonthBill;
  /** Begins to watch usage, once. Until then the bill is not whole. */
  readonly wantBill: () => void;
  readonly parts: readonly ManagerPart[];
}

/** Creates it. Nothing is watched until its parts run. */
export function createCost(parts: {
  readonly client: KubeClient;
  readonly namespaces: CostSources["namespaces"];
  readonly logger: Logger;
  readonly clock: Clock;
}): Cost {
  const { client, namespaces, logger, clock } = parts;
  const { sources, prices: ofPrices, usage } = watchCost(client, namespaces, logger);
  const prices = new Prices(sources, clock);
  const bill = new MonthBill({ sources, prices, logger, clock });
  const wanted = Promise.withResolvers<void>();
  const watchingUsage = watching("cost-usage", usage);
  return {
    prices,
    bill,
    wantBill: () => wanted.resolve(),
    parts: [
      watching("prices", ofPrices),
      {
        ...watchingUsage,
        start: async (options: { readonly signal: AbortSignal }) => {
          await Promise.race([wanted.promise, untilAborted(options.signal)]);
          if (!options.signal.aborted) await watchingUsage.start(options);
        },
      },
    ],
  };
}
