/**
 * Writes the manifests of a release, to be applied by `kubectl apply -f` in an order that one pass is enough for. They say what the charts say, for
 * those who have no Helm.
 */
import { join } from "node:path";
import {
  artefact,
  type ArtefactName,
  bindCrds,
  configurationName,
  functionName,
  klutchVersion,
  konnectorManifests,
  packageArtefacts,
  providerName,
  type Registry,
} from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import { type KubeObject } from "@klutch/kube-core";
import { services } from "@klutch/services";
import { released } from "../charts/chart.ts";
import { backendRbac } from "../generate/backend-manifests.ts";
import { replaceFile } from "./disk-full.ts";
import type { ReleaseOptions } from "./options.ts";
import type { ReleasedImage } from "./build-images.ts";
import { brokerManifests } from "./bundle-broker.ts";
import { backendService, configureObjects, siteDeployment, variablesOf } from "./bundle-backend.ts";

/** Names of the bundles. */
export const bundleNames = ["install", "install-dev", "configure", "update", "konnector"] as const;

/** One of them. */
export type BundleName = (typeof bundleNames)[number];

/** Returns the objects of each bundle, with artefacts out of `registry`; those whose digest is known are named by it. */
export function bundleObjects({
  registry,
  digests,
}: {
  readonly registry?: Registry;
  readonly digests?: ReadonlyMap<ArtefactName, string>;
} = {}): Readonly<Record<BundleName, readonly KubeObject[]>> {
  const image = (name: ArtefactName): string => artefact(name, { registry, digest: digests?.get(name) });
  const [deployment, packages] = [siteDeployment(image), packagesOf(image)];
  const rights = backendRbac();
  const isPolicy = ({ kind }: KubeObject): boolean => kind.startsWith("Validating");
  const install = [
    ...rights.filter((object) => !isPolicy(object)),
    ...bindCrds.map(released),
    backendService,
    deployment,
    ...packages,
  ];
  // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
  const policies = rights.filter(isPolicy);
  return {
    install: [...install, ...policies],
    "install-dev": [...install, ...brokerManifests(image("broker")), ...policies],
    configure: configureObjects(services),
    update: [deployment, ...packages],
    konnector: konnectorManifests({ image: image("konnector") }),
  };
}

/**
 * Function and Provider are installed by name, because Compositions and rights name them. Crossplane must not look for them once more: what
 * is named by digest or comes from a mirror is another package in its eyes than the dependency of the same version.
 */
function packagesOf(image: (name: ArtefactName) => string): readonly KubeObject[] {
  const install = (kind: string, name: string, of: ArtefactName, more: object): KubeObject => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name },
    spec: { package: image(of), packagePullPolicy: "IfNotPresent", ...more },
  });
  const { configuration, function: functionPackage, provider } = packageArtefacts;
  return [
    install("Function", functionName, functionPackage, {}),
    install("Provider", providerName, provider, {}),
    install("Configuration", configurationName, configuration, { skipDependencyResolution: true }),
  ];
}

const about: Readonly<Record<BundleName, string>> = {
  install: "what Klutch needs in the control plane cluster, where Crossplane is already",
  "install-dev":
    "as install, with a broker that makes databases in one Pod; for trying Klutch out, never for data",
  configure:
    "what is particular to a site; what stands in braces after a dollar has to be replaced, by hand or by envsubst",
  update:
    "of install only what names images and packages; enough between versions that differ in the last number",
  konnector: "what kubectl bind installs in an app cluster, for those who set clusters up from files",
};

/** Returns the text of a bundle. */
export function bundleText(name: BundleName, objects: readonly KubeObject[]): string {
  const documents = objects.map(formatYaml).join("---\n");
  const variables = variablesOf(documents).map((variable) => `# ${variable}\n`);
  const head = `# Klutch ${klutchVersion}: ${about[name]}.\n`;
  return [head, ...(variables.length === 0 ? [] : ["#\n", ...variables]), documents].join("");
}

/** Writes `bundles/<name>.yaml`; what was built is named by digest. */
export async function writeBundles(
  { out, registry }: Pick<ReleaseOptions, "out" | "registry">,
  images: readonly Pick<ReleasedImage, "definition" | "index">[],
): Promise<void> {
  const digests = new Map(images.map(({ definition, index }) => [definition.name, index.manifest.digest]));
  const objects = bundleObjects({ registry, digests });
  for (const name of bundleNames)
    await replaceFile(join(out, "bundles", `${name}.yaml`), bundleText(name, objects[name]));
}
