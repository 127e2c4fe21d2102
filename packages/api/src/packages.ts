/** The Crossplane packages: their names below the registry, their names once installed, and their metadata. */
import type { ResourceType } from "@klutch/kube-core";
import type { ArtefactName, Registry } from "./release.ts";
import { klutchVersion } from "./versions.ts";

/** Names below the registry. */
export const packageArtefacts = {
  configuration: "configuration-dataservices",
  namespacedConfiguration: "configuration-dataservices-namespaced",
  function: "function-klutch",
  provider: "provider-anynines",
} as const;

/** Crossplane names an automatically installed package after the path of its repository, which is `klutch/…` where releases live. */
export const functionName = "klutch-function-klutch";
/** See `functionName`. */
export const providerName = "klutch-provider-anynines";
/** Name under which the Configuration is installed. */
export const configurationName = "klutch-configuration-dataservices";
/** Name of the Configuration with the claims that are namespaced composites. */
export const namespacedConfigurationName = "klutch-configuration-dataservices-namespaced";

/** A kind of Crossplane's package manager, `pkg.crossplane.io/v1`. */
export function packageType(kind: string, plural: string): ResourceType {
  return { group: "pkg.crossplane.io", version: "v1", plural, kind, namespaced: false };
}

/** Any Crossplane manifest. */
export interface PackageManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

const metaApiVersion = "meta.pkg.crossplane.io/v1";
const crossplane = { version: ">=v2.0.0" };

/** Meta document of the Configuration whose dependencies are in `registry`. */
export function configurationMeta(registry: Registry): PackageManifest {
  return metaOf(packageArtefacts.configuration, registry);
}

/** Returns the metadata of the Configuration with the claims that are namespaced composites. */
export function namespacedConfigurationMeta(registry: Registry): PackageManifest {
  return metaOf(packageArtefacts.namespacedConfiguration, registry);
}

function metaOf(name: ArtefactName, registry: Registry): PackageManifest {
  const dependency = (kind: string, dependencyName: ArtefactName): unknown => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    package: `${registry}/${dependencyName}`,
    version: klutchVersion,
  });
  return {
    apiVersion: metaApiVersion,
    kind: "Configuration",
    metadata: { name },
    spec: {
      crossplane,
      dependsOn: [
        dependency("Function", packageArtefacts.function),
        dependency("Provider", packageArtefacts.provider),
      ],
    },
  };
}

/** Meta document of the Function. */
export const functionMeta: PackageManifest = {
  apiVersion: metaApiVersion,
  kind: "Function",
  metadata: { name: packageArtefacts.function },
  spec: { crossplane },
};

/** Meta document of the Provider. */
export const providerMeta: PackageManifest = {
  apiVersion: metaApiVersion,
  kind: "Provider",
  metadata: { name: packageArtefacts.provider },
  spec: { crossplane, capabilities: [] },
};
