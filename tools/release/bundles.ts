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
  nodePortService,
  packageArtefacts,
  providerName,
  type Registry,
  restrictedContainer,
  restrictedPod,
  runtimeUser,
} from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import { services } from "@klutch/services";
import { released } from "../charts/chart.ts";
import { backendName, backendRbac } from "../generate/backend-manifests.ts";
import { manifestsIn } from "../generate/manifests.ts";
import { replaceFile } from "./disk-full.ts";
import type { ReleaseOptions } from "./options.ts";
import type { ReleasedImage } from "./build-images.ts";
import { dataFolder } from "./images.ts";
import { configureObjects, siteDeployment, variablesOf } from "./bundle-backend.ts";

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
  const objects = manifestsIn("tools/release/install.yaml", {
    DEPLOYMENT: siteDeployment(image),
    FUNCTION: functionName,
    FUNCTION_IMAGE: image(packageArtefacts.function),
    PROVIDER: providerName,
    PROVIDER_IMAGE: image(packageArtefacts.provider),
    CONFIGURATION: configurationName,
    CONFIGURATION_IMAGE: image(packageArtefacts.configuration),
  });
  const rights = backendRbac();
  const isPolicy = ({ kind }: KubeObject): boolean => kind.startsWith("Validating");
  const install = [...rights.filter((object) => !isPolicy(object)), ...bindCrds.map(released), ...objects];
  // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
  const policies = rights.filter(isPolicy);
  return {
    install: [...install, ...policies],
    "install-dev": [...install, ...brokerObjects(image("broker")), ...policies],
    configure: configureObjects(services),
    update: objects.filter(({ kind }) => kind !== "Service"),
    konnector: konnectorManifests({ image: image("konnector") }),
  };
}

/** Ports of the broker's databases: one for all PostgreSQL instances, and one for each instance of the other services. */
const brokerPorts = { first: 30_010, last: 30_049 };

function brokerObjects(image: string): readonly KubeObject[] {
  const labels = { "app.kubernetes.io/name": "klutch-broker" };
  const metadata = { name: "klutch-broker-data", namespace: backendName, labels };
  return manifestsIn("tools/release/broker.yaml", {
    DATA_SERVICE: nodePortService(metadata, labels, brokerPorts),
    RESTRICTED_POD: { ...restrictedPod, fsGroup: runtimeUser },
    RESTRICTED_CONTAINER: restrictedContainer,
    IMAGE: image,
    PORTS: `${brokerPorts.first}-${brokerPorts.last}`,
    DATA_FOLDER: dataFolder,
  });
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
