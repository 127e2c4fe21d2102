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
  providerConfigs,
  providerName,
  type Registry,
  restrictedContainer,
  restrictedPod,
  runtimeUser,
} from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import { apiVersionOf, type KubeObject } from "@klutch/kube-core";
import {
  backupConfigName,
  type DataService,
  exportTemplatesOf,
  legacy,
  providerConfigName,
  services,
} from "@klutch/services";
import { released } from "../charts/chart.ts";
import {
  backendDeployment,
  backendName,
  backendRbac,
  consoleRbac,
  controlPlaneModeRbac,
  deployableRoleName,
} from "../generate/backend-manifests.ts";
import { manifestsIn } from "../generate/manifests.ts";
import { providerKubernetes, providerKubernetesConfigs } from "../generate/provider-kubernetes.ts";
import { replaceFile } from "./disk-full.ts";
import type { ReleaseOptions } from "./options.ts";
import type { ReleasedImage } from "./build-images.ts";
import { dataFolder } from "./images.ts";

/** Names of the bundles. */
export const bundleNames = [
  "install",
  "install-dev",
  "configure",
  "update",
  "control-plane-mode",
  "console",
  "konnector",
  "provider-kubernetes",
  "provider-kubernetes-configs",
] as const;

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
  const rights = backendRbac(image("konnector"));
  const isPolicy = ({ kind }: KubeObject): boolean => kind.startsWith("Validating");
  const isDeployable = ({ metadata }: KubeObject): boolean => metadata.name === deployableRoleName;
  const install = [...rights.filter((object) => !isPolicy(object)), ...bindCrds.map(released), ...objects];
  // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
  const policies = rights.filter(isPolicy);
  return {
    install: [...install, ...policies],
    "install-dev": [...install, ...brokerObjects(image("broker")), ...policies],
    configure: configureObjects(),
    // Also the role with the image that the backend may deploy, which is another one in each version.
    update: [...rights.filter(isDeployable), ...objects.filter(({ kind }) => kind !== "Service")],
    "control-plane-mode": controlPlaneModeRbac(),
    console: consoleRbac(),
    konnector: konnectorManifests({ image: image("konnector") }),
    "provider-kubernetes": providerKubernetes("${PROVIDER_KUBERNETES_PACKAGE}"),
    "provider-kubernetes-configs": providerKubernetesConfigs(),
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
  "control-plane-mode":
    "the rights that the backend needs besides those of install to run with --control-plane-mode; with them it can read every Secret by name",
  console:
    "the rights that the backend needs besides those of install to show the audit in its console; with them it can read every Event",
  konnector: "what kubectl bind installs in an app cluster, for those who set clusters up from files",
  "provider-kubernetes":
    "provider-kubernetes, for databases that an operator makes in this cluster; its package is not part of this release, and the variable names it",
  "provider-kubernetes-configs":
    "the ProviderConfigs of provider-kubernetes, to be applied once its package is Healthy, which brings their kinds",
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

/** Returns the backend's Deployment, with the arguments and variables of a site. */
function siteDeployment(image: (name: ArtefactName) => string): KubeObject {
  const settings = ["OIDC_ISSUER_URL", "OIDC_CLIENT_ID", "PUBLIC_URL", "API_SERVER_URL"];
  return backendDeployment({
    image: image("backend"),
    args: [
      `--konnector-image=${image("konnector")}`,
      "--oidc-issuer-url=$(OIDC_ISSUER_URL)",
      "--oidc-issuer-client-id=$(OIDC_CLIENT_ID)",
      "--oidc-callback-url=$(PUBLIC_URL)/callback",
      "--external-address=$(API_SERVER_URL)",
    ],
    env: [
      ...settings.map((name) => variable(name, "configMapKeyRef")),
      ...["OIDC_CLIENT_SECRET", "COOKIE_SIGNING_KEY"].map((name) => variable(name, "secretKeyRef")),
    ],
  });
}

/** Returns a variable that the kubelet fills from a key of site.yaml; without it the Pod does not start and says why. */
function variable(name: string, source: "configMapKeyRef" | "secretKeyRef"): object {
  const key = name.toLowerCase().replaceAll("_", "-");
  return { name, valueFrom: { [source]: { name: backendName, key } } };
}

/** Returns the names of the variables that a site must fill in, in their order in the text. */
export function variablesOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\$\{([A-Z][A-Z0-9_]*)\}/g)].map(([, name = ""]) => name))];
}

/** Returns the objects in the order in which they have to be applied: what needs kinds of the provider's package comes last. */
function configureObjects(): readonly KubeObject[] {
  const backends = services().flatMap(backendsOf);
  return [
    ...manifestsIn("tools/release/site.yaml", {}),
    ...backends.filter(({ kind }) => kind === "Secret"),
    ...exportTemplatesOf(legacy),
    ...backends.filter(({ kind }) => kind !== "Secret"),
  ];
}

/** Returns credentials and configuration of a service's broker and backup manager; none if no broker makes it. */
function backendsOf({ type, object, others }: DataService): readonly KubeObject[] {
  const isMadeAtBroker = object === undefined || others.some((other) => other.object === undefined);
  if (!isMadeAtBroker) return [];
  return manifestsIn("tools/release/site-service.yaml", {
    API_VERSION: apiVersionOf(providerConfigs),
    KIND: providerConfigs.kind,
    BROKER: providerConfigName(type),
    MANAGER: backupConfigName(type),
    PREFIX: type.toUpperCase(),
  });
}
