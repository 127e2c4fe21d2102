/** Regions of the brokers that serve offered data services, as lists show them. */
import {
  clusterProviderConfigs,
  drainedLabel,
  plainText,
  providerConfigs,
  regionLabel,
  serviceTypeLabel,
} from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import type { ControlPlane } from "../service/control-plane.ts";
import { listed } from "../tenants/read.ts";

/** Finds the regions of a type of data service that take new instances. */
export type RegionsOf = (type: string) => readonly string[];

/** Reads the regions with the caller's rights. A person who may not list ProviderConfigs sees none; a line says so. */
export async function readRegions(context: CliContext, cluster: ControlPlane): Promise<RegionsOf> {
  try {
    const kinds = [providerConfigs, clusterProviderConfigs];
    const configs = await Promise.all(kinds.map((kind) => listed<DynamicObject>(context, cluster, kind)));
    return regionsIn(configs.flat());
  } catch (error) {
    if (!isForbidden(error)) throw error;
    context.terminal.say(`No regions are shown: ${error instanceof Error ? error.message : String(error)}`);
    return () => [];
  }
}

/** Returns the regions in the labels of ProviderConfigs. A drained broker and one that is being deleted take nothing new. */
export function regionsIn(configs: readonly DynamicObject[]): RegionsOf {
  const regions = new Map<string, string[]>();
  for (const { metadata } of configs) {
    const {
      [serviceTypeLabel]: type = "",
      [regionLabel]: region = "",
      [drainedLabel]: drained,
    } = metadata.labels ?? {};
    if (type === "" || region === "" || drained === "true" || metadata.deletionTimestamp !== undefined)
      continue;
    regions.set(type, [...(regions.get(type) ?? []), plainText(region, 63)]);
  }
  return (type) => regions.get(type) ?? [];
}
