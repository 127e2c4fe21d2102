/** Reads `--generation`, which selects the API model of a service's claims. */
import { clusterProviderConfigs, providerConfigs } from "@klutch/api";
import type { ResourceType } from "@klutch/kube-core";
import { type Generation, generations, legacy } from "@klutch/services";
import { CliError } from "../errors.ts";
import type { CommonOptions } from "../options.ts";

/** Flags of commands that connect. */
export interface ServiceOptions extends CommonOptions {
  readonly generation: Generation;
}

/** The flag and its `--help` text. */
export const generationFlag: readonly [flag: string, text: string] = [
  "--generation <name>",
  `API model of the claims: ${generations.map(({ name }) => name).join(" or ")} (namespaced composites) (default: ${legacy.name})`,
];

/** Reads the flag. Throws `CliError` with the allowed values. */
export function generationOf(values: Readonly<Record<string, unknown>>): Generation {
  const { generation: name } = values;
  const found = name === undefined ? legacy : generations.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new CliError(
    "Usage",
    `Unknown --generation ${String(name)}: use ${generations.map((one) => one.name).join(" or ")}.`,
  );
}

/** Returns the kind of ProviderConfig that says where the brokers of a generation's services are. */
export function configsOf(generation: Generation): ResourceType {
  return generation === legacy ? providerConfigs : clusterProviderConfigs;
}
