/** The Crossplane packages: what is in each, where it is kept, and the name that it has once it is installed. */
import {
  configurationMeta,
  configurationName,
  functionMeta,
  functionName,
  namespacedConfigurationMeta,
  namespacedConfigurationName,
  type PackageManifest,
  packageRepositories,
  providerCrds,
  providerMeta,
  providerName,
} from "@klutch/api";
import { compositionsOf } from "./compositions.ts";
import { type Generation, legacy } from "./generation.ts";
import { xrdsOf } from "./xrds.ts";

/** A package. */
export interface CrossplanePackage {
  readonly kind: "Configuration" | "Function" | "Provider";
  /** Of the object that installs it. */
  readonly name: string;
  /** Path inside a registry. */
  readonly repository: string;
  /** Its YAML stream, the metadata first. */
  readonly documents: readonly PackageManifest[];
}

/** All of them. `registry` is where the Configurations find what they depend on. */
export function packagesOf(
  generations: readonly Generation[],
  registry: string,
): readonly CrossplanePackage[] {
  const configurations = generations.map((generation) => configurationPackage(generation, registry));
  return [functionPackage, providerPackage, ...configurations];
}

/** The composition function. */
const functionPackage: CrossplanePackage = {
  kind: "Function",
  name: functionName,
  repository: packageRepositories.function,
  documents: [functionMeta],
};

/** The provider of service brokers and backup managers. */
const providerPackage: CrossplanePackage = {
  kind: "Provider",
  name: providerName,
  repository: packageRepositories.provider,
  documents: [providerMeta, ...providerCrds],
};

/** The APIs of a generation. It depends on function and provider as they are in `registry`, which is `host:port` or a host with a path. */
function configurationPackage(generation: Generation, registry: string): CrossplanePackage {
  const contents = [...xrdsOf(generation), ...compositionsOf(generation)];
  return generation === legacy
    ? {
        kind: "Configuration",
        name: configurationName,
        repository: packageRepositories.configuration,
        documents: [configurationMeta(registry), ...contents],
      }
    : {
        kind: "Configuration",
        name: namespacedConfigurationName,
        repository: packageRepositories.namespacedConfiguration,
        documents: [namespacedConfigurationMeta(registry), ...contents],
      };
}
