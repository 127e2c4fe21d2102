/** The Crossplane packages: the contents of each, and its name once installed. */
import {
  type ArtefactName,
  configurationMeta,
  configurationName,
  functionMeta,
  functionName,
  namespacedConfigurationMeta,
  namespacedConfigurationName,
  type PackageManifest,
  packageArtefacts,
  providerCrds,
  providerMeta,
  providerName,
  type Registry,
} from "@klutch/api";
import { compositionsOf } from "./compositions.ts";
import { type Generation, legacy } from "./generation.ts";
import { xrdsOf } from "./xrds.ts";

/** A package. */
export interface CrossplanePackage {
  readonly kind: "Configuration" | "Function" | "Provider";
  /** Name of the object that installs it. */
  readonly name: string;
  /** Below the registry. */
  readonly artefactName: ArtefactName;
  /** YAML stream of the package, the metadata first. */
  readonly documents: readonly PackageManifest[];
}

/** All of them. `registry` is where the Configurations find what they depend on. */
export function packagesOf(
  generations: readonly Generation[],
  registry: Registry,
): readonly CrossplanePackage[] {
  const configurations = generations.map((generation) => configurationPackage(generation, registry));
  return [functionPackage, providerPackage, ...configurations];
}

/** The composition function. */
const functionPackage: CrossplanePackage = {
  kind: "Function",
  name: functionName,
  artefactName: packageArtefacts.function,
  documents: [functionMeta],
};

/** The provider of service brokers and backup managers. */
const providerPackage: CrossplanePackage = {
  kind: "Provider",
  name: providerName,
  artefactName: packageArtefacts.provider,
  documents: [providerMeta, ...providerCrds],
};

/** The APIs of a generation. It depends on function and provider as they are in `registry`. */
function configurationPackage(generation: Generation, registry: Registry): CrossplanePackage {
  const contents = [...xrdsOf(generation), ...compositionsOf(generation)];
  return generation === legacy
    ? {
        kind: "Configuration",
        name: configurationName,
        artefactName: packageArtefacts.configuration,
        documents: [configurationMeta(registry), ...contents],
      }
    : {
        kind: "Configuration",
        name: namespacedConfigurationName,
        artefactName: packageArtefacts.namespacedConfiguration,
        documents: [namespacedConfigurationMeta(registry), ...contents],
      };
}
