/** Reads prices: the operator's list, and those that tables carry to the control plane. */
import { configMaps, type DynamicObject } from "@klutch/kube-core";
import {
  compositionType,
  type PlanPrice,
  type PriceBook,
  priceBookOf,
  PriceError,
  priceListName,
  pricesIn,
  pricesOfConfigMap,
} from "@klutch/services";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { ControlPlane } from "../service/control-plane.ts";
import { fileText } from "../service/file.ts";
import { listed } from "../tenants/read.ts";

/** `path`: a file that takes the place of the list in the control plane. Throws `CliError` that names every fault. */
export async function readPrices(
  context: CliContext,
  cluster: ControlPlane,
  { path, namespace }: { readonly path: string | undefined; readonly namespace: string },
): Promise<PriceBook> {
  const compositions = await listed<DynamicObject>(context, cluster, compositionType);
  const text = path === undefined ? undefined : await fileText(path);
  const found = text === undefined ? await configMapOf(context, cluster, namespace) : undefined;
  return calculated(() => {
    const own: readonly PlanPrice[] =
      text === undefined ? pricesOfConfigMap(found) : pricesIn(text, path ?? "");
    return priceBookOf(own, compositions);
  });
}

async function configMapOf(
  { signal }: CliContext,
  { client }: ControlPlane,
  namespace: string,
): Promise<DynamicObject | undefined> {
  return await client.find<DynamicObject>(configMaps, { namespace, name: priceListName }, { signal });
}

/** Runs a calculation, and words its `PriceError` for the person who typed the command. */
function calculated<T>(calculate: () => T): T {
  try {
    return calculate();
  } catch (cause) {
    if (cause instanceof PriceError) throw new CliError("Manifest", cause.message, { cause });
    throw cause;
  }
}
