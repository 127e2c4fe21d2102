/** The Crossplane packages: their repositories, their names once installed, and their metadata. */
import { klutchVersion } from "./versions.ts";

/** Repository paths inside a registry. */
export const packageRepositories = {
  configuration: "klutch/configuration-dataservices",
  namespacedConfiguration: "klutch/configuration-dataservices-namespaced",
  function: "klutch/function-klutch",
  provider: "klutch/provider-anynines",
} as const;

/** Crossplane names an automatically installed package after its repository path. */
export const functionName = "klutch-function-klutch";
/** See `functionName`. */
export const providerName = "klutch-provider-anynines";
/** Name under which the Configuration is installed. */
export const configurationName = "klutch-configuration-dataservices";
/** As `configurationName`, of the Configuration with the claims that are namespaced composites. */
export const namespacedConfigurationName = "klutch-configuration-dataservices-namespaced";

/** Any Crossplane manifest. */
export interface PackageManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

const metaApiVersion = "meta.pkg.crossplane.io/v1";
const crossplane = { version: ">=v2.0.0" };

/** Meta document of the Configuration; `registry` is `host:port` or a host with a path. */
export function configurationMeta(registry: string): PackageManifest {
  return metaOf("configuration-dataservices", registry);
}

/** As `configurationMeta`, of the Configuration with the claims that are namespaced composites. */
export function namespacedConfigurationMeta(registry: string): PackageManifest {
  return metaOf("configuration-dataservices-namespaced", registry);
}

function metaOf(name: string, registry: string): PackageManifest {
  const dependency = (kind: string, repository: string): unknown => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    package: `${registry}/${repository}`,
    version: klutchVersion,
  });
  return {
    apiVersion: metaApiVersion,
    kind: "Configuration",
    metadata: { name },
    spec: {
      crossplane,
      dependsOn: [
        dependency("Function", packageRepositories.function),
        dependency("Provider", packageRepositories.provider),
      ],
    },
  };
}

/** Meta document of the Function. */
export const functionMeta: PackageManifest = {
  apiVersion: metaApiVersion,
  kind: "Function",
  metadata: { name: "function-klutch" },
  spec: { crossplane },
};

/** Meta document of the Provider. */
export const providerMeta: PackageManifest = {
  apiVersion: metaApiVersion,
  kind: "Provider",
  metadata: { name: "provider-anynines" },
  spec: { crossplane, capabilities: [] },
};
