/** The upstream servers, their versions, and how each is linked. Versions are pinned by `sandbox/engines/pins/<module>/go.mod`. */

/** One server to obtain. */
export interface EngineDefinition {
  readonly name: EngineName;
  readonly version: string;
  /** Folder under `engines/` whose go.mod pins it. */
  readonly module: string;
  /** Go package of its main function. */
  readonly package: string;
  /** `-X` linker settings. */
  readonly linkerSettings: readonly string[];
  /** Folders of its Go module that are installed beside the program. */
  readonly extraFolders?: { readonly goModule: string; readonly folders: readonly string[] } | undefined;
}

/** Names of all servers. */
export type EngineName =
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kubectl"
  | "crane"
  | "dex"
  | "crossplane"
  | "crossplane-rbac"
  | "judges"
  | "provider-kubernetes"
  | "helm"
  | "kubelet"
  | "kube-proxy"
  | "kube-scheduler"
  | "coredns"
  | "pause";

const kubernetesVersion = "v1.34.4";
const crossplaneVersion = "v2.3.4";
const helmVersion = "v3.22.0";
/** Helm takes the Kubernetes that it was made with for the cluster's when it renders without one. */
const helmSettings = [
  `helm.sh/helm/v3/internal/version.version=${helmVersion}`,
  ...["helm.sh/helm/v3/pkg/lint/rules", "helm.sh/helm/v3/pkg/chartutil"].flatMap((goPackage) => [
    `${goPackage}.k8sVersionMajor=1`,
    `${goPackage}.k8sVersionMinor=37`,
  ]),
];
const kubernetesSettings = [`k8s.io/component-base/version.gitVersion=${kubernetesVersion}`];
const crossplaneSettings = [
  `github.com/crossplane/crossplane-runtime/v2/pkg/version.version=${crossplaneVersion}`,
];

/** A listener for metrics on :8080 that has no flag is turned off by a linker setting. */
const withoutMetrics = "sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=0";

const kubernetes = (name: EngineName): EngineDefinition => ({
  name,
  version: kubernetesVersion,
  module: "kubernetes",
  package: `k8s.io/kubernetes/cmd/${name}`,
  linkerSettings: kubernetesSettings,
});

const crossplane = (name: EngineName, linkerSettings: readonly string[]): EngineDefinition => ({
  name,
  version: crossplaneVersion,
  module: "crossplane",
  package: "github.com/crossplane/crossplane/v2/cmd/crossplane",
  linkerSettings,
});

/** In the order in which they are built: what takes longest first, so that the modules of the others are downloaded meanwhile. */
export const engineDefinitions: readonly EngineDefinition[] = [
  kubernetes("kube-apiserver"),
  kubernetes("kube-controller-manager"),
  kubernetes("kubectl"),
  kubernetes("kubelet"),
  kubernetes("kube-proxy"),
  kubernetes("kube-scheduler"),
  {
    name: "etcd",
    version: "v3.6.4",
    module: "etcd",
    package: "go.etcd.io/etcd/server/v3",
    linkerSettings: [],
  },
  {
    name: "crane",
    version: "v0.22.1",
    module: "crane",
    package: "github.com/google/go-containerregistry/cmd/crane",
    linkerSettings: [],
  },
  {
    name: "dex",
    version: "v2.44.0",
    module: "dex",
    package: "github.com/dexidp/dex/cmd/dex",
    linkerSettings: [],
  },
  {
    ...crossplane("crossplane", crossplaneSettings),
    extraFolders: {
      goModule: "github.com/crossplane/crossplane/v2",
      folders: ["cluster/crds", "cluster/webhookconfigurations", "cluster/charts/crossplane"],
    },
  },
  // The RBAC manager always listens on :8080 for metrics and has no flag for it.
  crossplane("crossplane-rbac", [...crossplaneSettings, withoutMetrics]),
  {
    name: "provider-kubernetes",
    version: "v1.2.0",
    module: "provider-kubernetes",
    package: "github.com/crossplane-contrib/provider-kubernetes/cmd/provider",
    linkerSettings: [withoutMetrics],
    extraFolders: {
      goModule: "github.com/crossplane-contrib/provider-kubernetes",
      folders: ["package/crds"],
    },
  },
  // A program of ours around the GitOps tools' own code; its source lies beside its go.mod.
  { name: "judges", version: "v0.1.0", module: "judges", package: ".", linkerSettings: [] },
  {
    name: "helm",
    version: helmVersion,
    module: "helm",
    package: "helm.sh/helm/v3/cmd/helm",
    linkerSettings: helmSettings,
  },
  // CoreDNS with a main function of ours that chooses its plugins.
  { name: "coredns", version: "v1.14.7", module: "coredns", package: ".", linkerSettings: [] },
  { name: "pause", version: "v0.1.0", module: "pause", package: ".", linkerSettings: [] },
];

/** Engines that one call of the compiler makes: they share a module and its linker settings. */
export function buildGroups(engines: readonly EngineDefinition[]): readonly (readonly EngineDefinition[])[] {
  const inOrder = engineDefinitions.filter((engine) => engines.includes(engine));
  const keyOf = ({ module, linkerSettings }: EngineDefinition): string =>
    JSON.stringify([module, linkerSettings]);
  return [...Map.groupBy(inOrder, keyOf).values()];
}

/** What only tests run, and only some. */
const testEngines: ReadonlySet<EngineName> = new Set<EngineName>(["judges", "provider-kubernetes", "helm"]);

/** What only real nodes run, besides the servers of a cluster. */
const nodeEngines: ReadonlySet<EngineName> = new Set<EngineName>([
  "kubelet",
  "kube-proxy",
  "kube-scheduler",
  "coredns",
  "pause",
]);

/** All names, in build order. */
export const allEngineNames: readonly EngineName[] = engineDefinitions.map((engine) => engine.name);

/** Names of the servers that the whole of Klutch runs beside, in build order. */
export const engineNames: readonly EngineName[] = allEngineNames.filter(
  (name) => !testEngines.has(name) && !nodeEngines.has(name),
);

/** Names of what real nodes run besides `engineNames`, in build order. */
export const nodeEngineNames: readonly EngineName[] = allEngineNames.filter((name) => nodeEngines.has(name));

/** The definition of `name`. */
export function engineDefinition(name: EngineName): EngineDefinition {
  const found = engineDefinitions.find((engine) => engine.name === name);
  if (found === undefined) throw new RangeError(`unknown engine ${name}`);
  return found;
}
