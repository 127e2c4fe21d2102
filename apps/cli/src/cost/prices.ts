/** Reads prices: the operator's list, and those that tables carry to the control plane. */
import { parseYaml } from "@klutch/kube";
import { configMaps, type DynamicObject, textAt } from "@klutch/kube-core";
import {
  type PlanPrice,
  PriceBook,
  priceListKey,
  priceListName,
  pricesAnnotation,
  readPriceList,
} from "@klutch/services";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { compositionsType, type ControlPlane } from "../service/control-plane.ts";
import { fileText } from "../service/file.ts";
import { listed } from "../tenants/read.ts";

/** `path`: a file that takes the place of the list in the control plane. Throws `CliError` that names every fault. */
export async function readPrices(
  context: CliContext,
  cluster: ControlPlane,
  { path, namespace }: { readonly path: string | undefined; readonly namespace: string },
): Promise<PriceBook> {
  const compositions = await listed<DynamicObject>(context, cluster, compositionsType);
  const ofTables = compositions.flatMap(({ metadata }) => {
    const text = metadata.annotations?.[pricesAnnotation];
    return text === undefined ? [] : pricesIn(text, `Composition ${metadata.name}`);
  });
  const own =
    path === undefined
      ? await pricesOfCluster(context, cluster, namespace)
      : pricesIn(await fileText(path), path);
  return new PriceBook(own, withoutDoubles(ofTables));
}

async function pricesOfCluster(
  { signal }: CliContext,
  { client }: ControlPlane,
  namespace: string,
): Promise<readonly PlanPrice[]> {
  const ref = { namespace, name: priceListName };
  const found = await client.find<DynamicObject>(configMaps, ref, { signal });
  if (found === undefined) return [];
  const where = `ConfigMap ${namespace}/${priceListName}`;
  const text = textAt(found, "data", priceListKey);
  if (text === undefined)
    throw new CliError("Manifest", `${where} has no key ${priceListKey} with a price list.`);
  return pricesIn(text, where);
}

function pricesIn(text: string, where: string): readonly PlanPrice[] {
  const { prices, faults } = readPriceList(parsed(text, where));
  if (faults.length === 0) return prices;
  const words = faults.map((fault) => `  ${fault}`).join("\n");
  throw new CliError("Manifest", `The prices of ${where} are not valid, so no cost is calculated:\n${words}`);
}

function parsed(text: string, where: string): unknown {
  try {
    return parseYaml(text);
  } catch (cause) {
    throw new CliError("Manifest", `The prices of ${where} are not one YAML document.`, { cause });
  }
}

/** Compositions of both generations carry the same prices. Two different ones of a plan cannot be told apart. */
function withoutDoubles(prices: readonly PlanPrice[]): readonly PlanPrice[] {
  const first = new Map<string, PlanPrice>();
  for (const price of prices) {
    const key = `${price.service}/${price.plan}`;
    const before = first.get(key);
    if (before !== undefined && JSON.stringify(before.price) !== JSON.stringify(price.price))
      throw new CliError(
        "Manifest",
        `Two tables have different prices for ${key}: state one in ConfigMap ${priceListName}, which goes before them.`,
      );
    first.set(key, price);
  }
  return [...first.values()];
}
