/** Reads the texts of price lists in the control plane into one book. No I/O. */
import { parseYaml } from "@klutch/kube";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import {
  type PlanPrice,
  PriceBook,
  priceListKey,
  priceListName,
  pricesAnnotation,
  readPriceList,
} from "./price-list.ts";

/** Says why no cost can be calculated. The message names the object, the field and its value. */
export class PriceError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "PriceError";
  }
}

/** Reads the ConfigMap `klutch-prices`; undefined is one that does not exist. Throws `PriceError` that names every fault. */
export function pricesOfConfigMap(found: DynamicObject | undefined): readonly PlanPrice[] {
  if (found === undefined) return [];
  const where = `ConfigMap ${found.metadata.namespace ?? ""}/${found.metadata.name}`;
  const text = textAt(found, "data", priceListKey);
  if (text === undefined) throw new PriceError(`${where} has no key ${priceListKey} with a price list.`);
  return pricesIn(text, where);
}

/** Reads a price list. `where`: its place, for messages. Throws `PriceError`. */
export function pricesIn(text: string, where: string): readonly PlanPrice[] {
  const { prices, faults } = readPriceList(parsed(text, where));
  if (faults.length === 0) return prices;
  const words = faults.map((fault) => `  ${fault}`).join("\n");
  throw new PriceError(`The prices of ${where} are not valid, so no cost is calculated:\n${words}`);
}

/** Makes a book of the operator's prices and of those that Compositions carry from their tables. Throws `PriceError`. */
export function priceBookOf(
  own: readonly PlanPrice[],
  compositions: readonly Pick<DynamicObject, "metadata">[],
): PriceBook {
  const ofTables = compositions.flatMap(({ metadata }) => {
    const text = metadata.annotations?.[pricesAnnotation];
    return text === undefined ? [] : pricesIn(text, `Composition ${metadata.name}`);
  });
  return new PriceBook(own, withoutDoubles(ofTables));
}

function parsed(text: string, where: string): unknown {
  try {
    return parseYaml(text);
  } catch (cause) {
    throw new PriceError(`The prices of ${where} are not one YAML document.`, { cause });
  }
}

/** Compositions of both generations carry the same prices. Two different ones of a plan cannot be told apart. */
function withoutDoubles(prices: readonly PlanPrice[]): readonly PlanPrice[] {
  const first = new Map<string, PlanPrice>();
  for (const price of prices) {
    const key = `${price.service}/${price.plan}`;
    const before = first.get(key);
    if (before !== undefined && JSON.stringify(before.price) !== JSON.stringify(price.price))
      throw new PriceError(
        `Two tables have different prices for ${key}: state one in ConfigMap ${priceListName}, which goes before them.`,
      );
    first.set(key, price);
  }
  return [...first.values()];
}
