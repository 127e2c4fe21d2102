/** Reads which regions a namespace or an app cluster may have from EnvironmentConfigs. */
import type { Json } from "@klutch/crossplane";
import { isRecord, plainText, textAt, valueAt } from "@klutch/kube-core";
import type { RegionRule } from "./broker-choice.ts";

/** As labels of ProviderConfigs have them. */
const name = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const mostRegions = 100;

/** Reports whether the EnvironmentConfig says something of regions. */
export function hasRegionRule(environment: Json): boolean {
  const data = valueAt(environment, "data");
  return isRecord(data) && (data["regions"] !== undefined || data["region"] !== undefined);
}

/** The rule of an EnvironmentConfig, or the field, the value and what would be right. */
export function regionRuleIn(environment: Json): RegionRule | { readonly problem: string } {
  const [regions, region] = ["regions", "region"].map((field) => valueAt(environment, "data", field));
  const of = `of EnvironmentConfig ${plainText(textAt(environment, "metadata", "name") ?? "without a name", 100)}`;
  if (regions !== undefined && !isRegions(regions))
    return {
      problem: `data.regions ${of} is ${shown(regions)}; it must be a list of 1 to ${mostRegions} names of regions`,
    };
  if (region !== undefined && !isRegion(region))
    return { problem: `data.region ${of} is ${shown(region)}; it must be the name of a region` };
  if (regions !== undefined && region !== undefined && !regions.includes(region))
    return {
      problem: `data.region ${of} is ${shown(region)}, which is not in its data.regions ${shown(regions)}; add it there`,
    };
  return { regions, region };
}

function isRegions(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= mostRegions &&
    value.every((one) => isRegion(one))
  );
}

function isRegion(value: unknown): value is string {
  return typeof value === "string" && name.test(value);
}

function shown(value: unknown): string {
  return plainText(JSON.stringify(value) ?? "nothing", 100);
}

/**
 * The rule of a namespace, as far as it goes, before that of its app cluster. A default of the app cluster that the namespace does not allow
 * is none.
 */
export function mergedRule(ofNamespace: RegionRule, ofCluster: RegionRule): RegionRule {
  const regions = ofNamespace.regions ?? ofCluster.regions;
  const region = ofNamespace.region ?? ofCluster.region;
  if (region === undefined || regions === undefined || regions.includes(region)) return { regions, region };
  return { regions };
}
