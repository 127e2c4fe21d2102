/** The upstream servers, their versions, and how each is linked. Versions are pinned by `sandbox/engines/pins/<module>/go.mod`. */

/** One server to obtain. Every field is a part of its key in the cache, in this order. */
export interface Engine {
  readonly name: EngineName;
  readonly version: string;
  /** Folder under `sandbox/engines/pins` whose go.mod pins it. */
  readonly module: string;
  /** Go package of its main function. */
  readonly package: string;
  /** `-X` linker settings. */
  readonly linkerSettings: readonly string[];
  /** Folders of its Go module that are installed beside the program. */
  readonly extraFolders?: { readonly goModule: string; readonly folders: readonly string[] } | undefined;
}

/** Programs that only some tests run. */
const testEngines = [
  "judges",
  "provider-kubernetes",
  "provider-nop",
  "helm",
  "cert-manager",
  "s3-controller",
  "cloud-service-broker",
  "opentofu",
] as const;

/** Servers of data services, which a broker obtains when it makes the first instance. */
const serviceEngines = ["versitygw", "ferretdb"] as const;

/** Programs that only real nodes run, besides the servers of a cluster. */
const nodeEngines = ["kubelet", "kube-proxy", "kube-scheduler", "coredns", "pause"] as const;

type ClusterEngine = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kubectl";
type SandboxEngine = "crane" | "dex" | "crossplane" | "crossplane-rbac";

/** Names of all servers. */
export type EngineName =
  | ClusterEngine
  | SandboxEngine
  | (typeof testEngines)[number]
  | (typeof serviceEngines)[number]
  | (typeof nodeEngines)[number];

/**
 * Versions of Kubernetes. The first is that of all programs; of each other one there are only the servers of a cluster, with which the long tests
 * try the whole way: the oldest that docs/support.md names, and one between.
 */
export const kubernetesVersions = ["v1.37.2", "v1.34.4", "v1.30.14"] as const;
export type KubernetesVersion = (typeof kubernetesVersions)[number];
const [kubernetesVersion] = kubernetesVersions;
const crossplaneVersion = "v2.3.4";
const crossplaneModule = "github.com/crossplane/crossplane/v2";
const crossplaneSettings = [
  `github.com/crossplane/crossplane-runtime/v2/pkg/version.version=${crossplaneVersion}`,
];
const providerKubernetesModule = "github.com/crossplane-contrib/provider-kubernetes";
const providerNopModule = "github.com/crossplane-contrib/provider-nop";
/** The last version whose controller is a package of the module itself, and so of what the Go module proxy serves. */
const certManagerVersion = "v1.11.5";
const certManagerModule = "github.com/cert-manager/cert-manager";
const certManagerSettings = [`${certManagerModule}/pkg/util.AppVersion=${certManagerVersion}`];
const s3ControllerVersion = "v1.1.1";
const s3ControllerModule = "github.com/aws-controllers-k8s/s3-controller";
const s3ControllerSettings = [`${s3ControllerModule}/pkg/version.GitVersion=${s3ControllerVersion}`];
const helmVersion = "v3.22.0";
/** Helm takes the Kubernetes that it was made with for the cluster's when it renders without one. */
const helmSettings = [
  `helm.sh/helm/v3/internal/version.version=${helmVersion}`,
  ...["helm.sh/helm/v3/pkg/lint/rules", "helm.sh/helm/v3/pkg/chartutil"].flatMap((goPackage) => [
    `${goPackage}.k8sVersionMajor=1`,
    `${goPackage}.k8sVersionMinor=37`,
  ]),
];
/** A listener for metrics on :8080 that has no flag is turned off by a linker setting. */
const withoutMetrics = "sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=0";

const define = (
  name: EngineName,
  version: string,
  goPackage: string,
  linkerSettings: readonly string[] = [],
  module: string = name,
): Engine => ({ name, version, module, package: goPackage, linkerSettings });

const kubernetes = (name: EngineName, version: KubernetesVersion = kubernetesVersion): Engine =>
  define(
    name,
    version,
    `k8s.io/kubernetes/cmd/${name}`,
    [`k8s.io/component-base/version.gitVersion=${version}`],
    version === kubernetesVersion ? "kubernetes" : `kubernetes-${version}`,
  );

const crossplane = (name: EngineName, linkerSettings: readonly string[]): Engine =>
  define(name, crossplaneVersion, `${crossplaneModule}/cmd/crossplane`, linkerSettings, "crossplane");

/** Names of the servers that each version of Kubernetes has. */
export const versionedServers: readonly EngineName[] = ["kube-apiserver", "kube-controller-manager"];

/** Definitions in build order: the slowest build comes first, so that the modules of the others are downloaded meanwhile. */
export const engineDefinitions: readonly Engine[] = [
  kubernetes("kube-apiserver"),
  kubernetes("kube-controller-manager"),
  kubernetes("kubectl"),
  kubernetes("kubelet"),
  kubernetes("kube-proxy"),
  kubernetes("kube-scheduler"),
  define("etcd", "v3.6.4", "go.etcd.io/etcd/server/v3"),
  define("crane", "v0.22.1", "github.com/google/go-containerregistry/cmd/crane"),
  define("dex", "v2.44.0", "github.com/dexidp/dex/cmd/dex"),
  {
    ...crossplane("crossplane", crossplaneSettings),
    extraFolders: {
      goModule: crossplaneModule,
      folders: ["cluster/crds", "cluster/webhookconfigurations", "cluster/charts/crossplane"],
    },
  },
  crossplane("crossplane-rbac", [...crossplaneSettings, withoutMetrics]),
  {
    ...define("provider-kubernetes", "v1.2.0", `${providerKubernetesModule}/cmd/provider`, [withoutMetrics]),
    extraFolders: { goModule: providerKubernetesModule, folders: ["package/crds"] },
  },
  {
    ...define("provider-nop", "v0.5.0", `${providerNopModule}/cmd/provider`, [withoutMetrics]),
    extraFolders: { goModule: providerNopModule, folders: ["package/crds"] },
  },
  {
    ...define("cert-manager", certManagerVersion, `${certManagerModule}/cmd/controller`, certManagerSettings),
    extraFolders: { goModule: certManagerModule, folders: ["deploy/crds"] },
  },
  {
    // With the libraries of crossplane and versitygw, newer than its own, so that most of it is compiled already.
    ...define(
      "s3-controller",
      s3ControllerVersion,
      `${s3ControllerModule}/cmd/controller`,
      s3ControllerSettings,
    ),
    extraFolders: { goModule: s3ControllerModule, folders: ["config/crd/bases", "config/crd/common/bases"] },
  },
  define("cloud-service-broker", "v2.5.0", "github.com/cloudfoundry/cloud-service-broker/v2"),
  define("opentofu", "v1.9.0", "github.com/opentofu/opentofu/cmd/tofu"),
  // A program of ours around the GitOps tools' own code; its source lies beside its go.mod.
  define("judges", "v0.1.0", "."),
  define("helm", helmVersion, "helm.sh/helm/v3/cmd/helm", helmSettings),
  define("versitygw", "v1.8.0", "github.com/versity/versitygw/cmd/versitygw"),
  // With a main function of ours, whose source says why.
  define("ferretdb", "v1.24.0", "."),
  // CoreDNS with a main function of ours that chooses its plugins.
  define("coredns", "v1.14.7", "."),
  define("pause", "v0.1.0", "."),
];

const everyDefinition: readonly Engine[] = [
  ...engineDefinitions,
  ...kubernetesVersions
    .slice(1)
    .flatMap((version) => versionedServers.map((name) => kubernetes(name, version))),
];

/** Returns engines by the calls of the compiler that make them: those of a call share a module and its linker settings. */
export function buildGroups(engines: readonly Engine[]): readonly (readonly Engine[])[] {
  const inOrder = everyDefinition.filter((engine) => engines.includes(engine));
  const keyOf = ({ module, linkerSettings }: Engine): string => JSON.stringify([module, linkerSettings]);
  return [...Map.groupBy(inOrder, keyOf).values()];
}

/** All names, in build order. */
export const allEngineNames: readonly EngineName[] = engineDefinitions.map((engine) => engine.name);

/** Names of what real nodes run besides `engineNames`. */
export const nodeEngineNames: readonly EngineName[] = nodeEngines;

const others: readonly EngineName[] = [...testEngines, ...serviceEngines, ...nodeEngines];
/** Names of the servers that the whole of Klutch runs beside, in build order. */
export const engineNames: readonly EngineName[] = allEngineNames.filter((name) => !others.includes(name));

/** Returns the definition of `name`; `version` chooses among the versions of Kubernetes. Default: the first. */
export function engineDefinition(name: EngineName, version?: KubernetesVersion): Engine {
  const found = everyDefinition.find(
    (engine) => engine.name === name && (version === undefined || engine.version === version),
  );
  if (found === undefined) throw new RangeError(`unknown engine ${[name, version].join(" ").trim()}`);
  return found;
}
