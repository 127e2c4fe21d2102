/** An app cluster and a control plane with the parts as processes, each with the account and the rights that are shipped for it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  aggregateToBackendLabel,
  apiServiceBindings,
  apiServiceExportRequests,
  apiServiceExportTemplates,
  backendClaimsRoleName,
  bindCrds,
  binderName,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  identityAnnotation,
  konnectorManifests,
  konnectorName,
  kubeconfigKey,
  offerRules,
  serviceNamespaceName,
  unbindPolicyAnnotation,
} from "@klutch/api";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  numberAt,
  type ObjectRef,
  type ResourceType,
  roleBindings,
  serviceAccounts,
} from "@klutch/kube-core";
import {
  type ClusterConfig,
  createKubeClient,
  decodeObject,
  formatKubeconfig,
  formatYaml,
  type KubeClient,
  parseYamlDocuments,
} from "@klutch/kube";
import { ownProgram, reservePorts, run, type RunningProcess, startProcess } from "@klutch/engines";
import {
  accountConfig,
  anyObject,
  applyPolicies,
  type BackendProcess,
  crdObject,
  installRights,
  type LeaseOptions,
  namespaceObject,
  objectOfType,
  serviceAccountObject,
  startBackendProcess,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";

type Scope = "Namespaced" | "Cluster";

/** Two tenants; the name of one is the beginning of the other's. */
export const tenants = { a: "cluster1", b: "cluster1xyz" } as const;

/** The API that is offered. */
export const databases: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "databases",
  kind: "Database",
  namespaced: true,
};
export const databasesName = "databases.example.org";

/** One of its objects. */
export function databaseObject(namespace: string, name: string, spec: object = { size: 1 }): DynamicObject {
  return objectOfType(databases, { namespace, name }, { spec });
}

/** A tenant asks for the API. The plugin takes it without a namespace. */
export function exportRequest(namespace?: string): DynamicObject {
  const spec = { resources: [{ group: databases.group, resource: databases.plural }] };
  return objectOfType(apiServiceExportRequests, { namespace, name: databasesName }, { spec });
}

/** A program that is started, and what the process is called. */
export interface StartedProgram {
  readonly program: string;
  readonly name: string;
}

/** Parts that may come from another release. */
export interface BoundFixtureOptions {
  /** Limits bound objects to namespaces of the tenants, or allows them in the whole control plane. Default Namespaced. */
  readonly scope?: Scope;
  /** Kinds of the control plane. Default: those of this tree. */
  readonly crds?: readonly KubeObject[] | undefined;
  readonly backend?: StartedProgram | undefined;
}

/** Holds the clusters and clients that the tests use. */
export interface BoundFixture<Cluster extends TestCluster = TestCluster> extends AsyncDisposable {
  readonly appCluster: Cluster;
  readonly controlPlane: Cluster;
  /** `kubectl bind …` in the app cluster as its administrator. */
  readonly kubectlBind: (...args: readonly string[]) => Promise<string>;
  /** Starts the konnector's process with its own account; `stop` ends it. Default: the program of this tree. */
  readonly startKonnector: (started?: StartedProgram) => Promise<RunningProcess>;
  /** Starts another backend beside those that run. */
  readonly startBackend: (started: StartedProgram) => Promise<BackendProcess>;
  /** The backend that was started first. */
  readonly backend: BackendProcess;
  /** A client of the control plane with a tenant's credential. */
  readonly clientOf: (tenant: string) => Promise<KubeClient>;
}

/** The part of a fixture that binding needs. */
export interface BindingFixture extends Pick<BoundFixture, "kubectlBind"> {
  readonly appCluster: Pick<TestCluster, "client" | "dataDir">;
  readonly controlPlane: ClusterAccess;
}

/** A tenant, by default A, binds the API with the plugin; app cluster and konnector reach the control plane at `server`, by default at itself. */
export async function bindDatabases(
  { appCluster, controlPlane, kubectlBind }: BindingFixture,
  server: string = controlPlane.config.server,
  tenant: string = tenants.a,
): Promise<void> {
  const manifest = join(appCluster.dataDir, "request.yaml");
  await writeFile(manifest, formatYaml(exportRequest()));
  const remote = join(appCluster.dataDir, `${tenant}.kubeconfig`);
  await writeFile(remote, await tenantKubeconfig(controlPlane, tenant, server), { mode: 0o600 });
  const flags = ["--accept-permissions", "--skip-konnector"];
  await kubectlBind("apiservice", "--remote-kubeconfig", remote, "-f", manifest, ...flags);
}

/** Returns the kubeconfig of a tenant, as the backend hands it out. */
export async function tenantKubeconfig(
  cluster: ClusterAccess,
  tenant: string,
  server: string = cluster.config.server,
): Promise<string> {
  return formatKubeconfig({ ...(await tenantConfig(cluster, tenant)), server });
}

/** Returns the way into the control plane as a tenant. */
export async function tenantConfig(cluster: ClusterAccess, tenant: string): Promise<ClusterConfig> {
  return { ...(await accountConfig(cluster, { namespace: tenant, name: binderName })), namespace: tenant };
}

type ClusterAccess = Pick<TestCluster, "client" | "config">;

const tree = join(import.meta.dirname, "..", "..", "..");
const backendAccount = { namespace: "klutch-backend", name: "klutch-backend" };
const databaseCrd = crdObject(databases, {
  properties: { spec: anyObject, status: anyObject },
  hasStatus: true,
});
const templateSpec = {
  APIServiceSelector: { group: "example.org", resource: "databases" },
  permissionClaims: [{ group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" } }],
};

/** Returns `kubectl bind …` with the kubeconfig in a file; gives back what it printed. */
export function pluginFor(kubeconfig: string): BoundFixture["kubectlBind"] {
  return async (...args) => {
    const command = [ownProgram("cli"), "--timeout=60s", "--kubeconfig", kubeconfig, ...args];
    const { stdout, stderr } = await run(process.execPath, command);
    return stdout + stderr;
  };
}

/** Installs everything in two clusters that `makeCluster` makes, and logs both tenants in; nothing is bound. */
export async function startBoundFixture<Cluster extends TestCluster>(
  makeCluster: (options: LeaseOptions) => Promise<Cluster>,
  options: BoundFixtureOptions = {},
): Promise<BoundFixture<Cluster>> {
  await using stack = new AsyncDisposableStack();
  const [appCluster, controlPlane] = await Promise.all([
    makeCluster({ name: "app-cluster", appCluster: true }),
    makeCluster({ name: "control-plane", controllerManager: true }),
  ]);
  stack.use(appCluster);
  stack.use(controlPlane);
  // Everything that tests start ends before the clusters.
  const started = stack.use(new AsyncDisposableStack());
  const clientOf = async (tenant: string): Promise<KubeClient> =>
    started.use(createKubeClient(await tenantConfig(controlPlane, tenant), { flowControl: false }));
  const { scope = "Namespaced", crds = bindCrds } = options;
  // Policies come with a backend of the same release: an earlier one does not know them.
  await installControlPlane(controlPlane.client, crds, options.backend === undefined);
  const startBackend = async (chosen: StartedProgram): Promise<BackendProcess> => {
    const kubeconfig = formatKubeconfig(await accountConfig(controlPlane, backendAccount));
    const flags = ["--control-plane-mode", `--consumer-scope=${scope}`];
    const process = { ...chosen, kubeconfig, servesLogin: false, flags };
    return started.use(await startBackendProcess(controlPlane, process));
  };
  const backend = await startBackend(options.backend ?? { program: ownProgram("backend"), name: "backend" });
  for (const tenant of Object.values(tenants)) await logIn(controlPlane.client, tenant);
  await installRights(appCluster.client, konnectorManifests({ image: "none" }));
  const kubectlBind = pluginFor(await writeKubeconfig(appCluster, "admin.kubeconfig", appCluster.config));
  return Object.assign(stack.move(), {
    appCluster,
    controlPlane,
    kubectlBind,
    startKonnector: async (chosen = { program: ownProgram("konnector"), name: "konnector-1" }) =>
      started.use(await runKonnector(appCluster, chosen)),
    startBackend,
    backend,
    clientOf,
  });
}

/** App cluster B of tenant B, with a claim whose namespace and name a claim of A has, too. */
export interface Neighbour extends AsyncDisposable {
  /** Changes its claim; resolves when the control plane has the change at B's place. */
  edit(): Promise<void>;
  /** Kills its konnector with SIGKILL, and gives back how to start it again. */
  killKonnector(): Promise<() => Promise<void>>;
  /** Unbinds the API as `klutch unbind --delete` does; resolves when its object is gone on both sides. */
  unbind(): Promise<void>;
}

/** Binds `appCluster` as B, which ends with it. The fixture's backend must run. */
export async function startNeighbour(
  { controlPlane }: Pick<BindingFixture, "controlPlane">,
  appCluster: TestCluster,
  claim: { readonly namespace: string; readonly name: string },
): Promise<Neighbour> {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(appCluster);
  // It ends before the cluster.
  const started = stack.use(new AsyncDisposableStack());
  await installRights(client, konnectorManifests({ image: "none" }));
  const kubectlBind = pluginFor(await writeKubeconfig(appCluster, "admin.kubeconfig", appCluster.config));
  const start = async (): Promise<RunningProcess> =>
    started.use(await runKonnector(appCluster, { program: ownProgram("konnector"), name: "konnector-b" }));
  const konnector = await start();
  await bindDatabases({ appCluster, controlPlane, kubectlBind }, undefined, tenants.b);
  await client.create(namespaces, namespaceObject(claim.namespace));
  const object = databaseObject(claim.namespace, claim.name, { size: 0 });
  await waitFor("the API to be served to B", () => client.create(databases, object));
  const place = { ...claim, namespace: serviceNamespaceName(tenants.b, claim.namespace) };
  const upstream = (): Promise<DynamicObject | undefined> => controlPlane.client.find(databases, place);
  await waitFor("B's claim in the control plane", upstream);
  let size = 0;
  return Object.assign(stack.move(), {
    async edit() {
      await client.mergePatch(databases, claim, { spec: { size: ++size } });
      await waitFor("B's edit", async () => numberAt((await upstream())?.spec, "size") === size);
    },
    async killKonnector() {
      await konnector.kill();
      return async () => void (await start());
    },
    async unbind() {
      const ref = { namespace: consumerNamespace, name: databasesName };
      const annotations = { [unbindPolicyAnnotation]: "Delete" };
      await client.mergePatch(apiServiceBindings, ref, { metadata: { annotations } });
      await client.delete(apiServiceBindings, ref);
      const isThere = (): Promise<unknown> => client.find(apiServiceBindings, ref);
      await waitFor("B to be unbound", async () => (await isThere()) === undefined);
      await waitFor("B's object to be gone", async () => (await upstream()) === undefined);
    },
  });
}

async function writeKubeconfig(cluster: TestCluster, name: string, config: ClusterConfig): Promise<string> {
  const path = join(cluster.dataDir, name);
  await writeFile(path, formatKubeconfig(config), { mode: 0o600 });
  return path;
}

async function installControlPlane(
  client: KubeClient,
  crds: readonly KubeObject[],
  isConfined: boolean,
): Promise<void> {
  for (const crd of crds) await client.create<KubeObject>(customResourceDefinitions, crd);
  const rights: KubeObject[] = [];
  for (const name of ["backend-rbac.yaml", "control-plane-mode.yaml"]) {
    const shipped = parseYamlDocuments(await readFile(join(tree, "deploy", name), "utf8"));
    rights.push(...shipped.map((object) => decodeObject<KubeObject>(object, name)));
  }
  await installRights(client, rights);
  if (isConfined)
    await applyPolicies(
      client,
      rights.filter(({ kind }) => kind.startsWith("Validating")),
    );
  await offerDatabases(client);
}

/** Installs the kind, and offers it to app clusters. */
export async function offerDatabases(client: KubeClient): Promise<void> {
  await client.create<KubeObject>(customResourceDefinitions, databaseCrd);
  const metadata = { namespace: "default", name: "databases" };
  const template = objectOfType(apiServiceExportTemplates, metadata, { spec: templateSpec });
  await waitFor("templates to be served", () => client.create(apiServiceExportTemplates, template));
  const labels = { [aggregateToBackendLabel]: "true" };
  const offer = { name: `${backendClaimsRoleName}-databases`, labels };
  const rules = offerRules([{ spec: templateSpec }]);
  await client.create(clusterRoles, objectOfType(clusterRoles, offer, { rules }));
}

/** Creates the objects that the backend creates at a person's login, and waits until its controllers have added the rights. */
export async function logIn(client: KubeClient, tenant: string, timeoutMs = 60_000): Promise<void> {
  const annotations = { [identityAnnotation]: `person-of-${tenant}#${tenant}` };
  const inside = (name: string): ObjectRef => ({ namespace: tenant, name });
  await client.create(namespaces, namespaceObject(tenant, annotations));
  await client.create(serviceAccounts, serviceAccountObject(inside(binderName)));
  const kubeconfigSecretRef = { name: kubeconfigKey, key: kubeconfigKey };
  const spec = { kubeconfigSecretRef, providerPrettyName: "Tests" };
  await client.create(clusterBindings, objectOfType(clusterBindings, inside(clusterBindingName), { spec }));
  const hasRights = async (): Promise<boolean> => {
    const roleBinding = await client.find(roleBindings, inside(binderName));
    const role = await client.find<DynamicObject>(clusterRoles, { name: `${binderName}-${tenant}` });
    return roleBinding !== undefined && role !== undefined;
  };
  await waitFor(`the rights of ${tenant}`, hasRights, { timeoutMs });
}

async function runKonnector(cluster: TestCluster, chosen: StartedProgram): Promise<RunningProcess> {
  const config = await accountConfig(cluster, { namespace: consumerNamespace, name: konnectorName });
  const kubeconfig = await writeKubeconfig(cluster, `${chosen.name}.kubeconfig`, config);
  await using ports = await reservePorts(1);
  const logFile = join(cluster.dataDir, `${chosen.name}.log`);
  return await startKonnector({ ...chosen, kubeconfig, port: ports.ports[0] ?? 0, logFile, isAwaited: true });
}

/** Options of a konnector's start. */
export interface KonnectorOptions extends Partial<StartedProgram> {
  /** Names its Pod, its log and the holder of its lease; it stays when the container starts again. */
  readonly name: string;
  /** File with its kubeconfig of the app cluster. */
  readonly kubeconfig: string;
  readonly logFile: string;
  /** Serves its probes. */
  readonly port: number;
  /** More flags. */
  readonly flags?: readonly string[];
  /** Makes the start wait until it is ready. Default: it only has to exist. */
  readonly isAwaited?: boolean;
}

/** Starts a konnector as a process of its own; disposing it asks it to end. */
export function startKonnector(options: KonnectorOptions): Promise<RunningProcess> {
  const { name, kubeconfig, logFile, port, flags = [], program = ownProgram("konnector") } = options;
  const probes = ["--probe-host=127.0.0.1", `--probe-port=${port}`];
  const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  return startProcess({
    name,
    command: process.execPath,
    args: [program, `--lease-namespace=${consumerNamespace}`, ...probes, ...flags],
    env: { KUBECONFIG: kubeconfig, POD_NAME: name, POD_NAMESPACE: consumerNamespace },
    logFile,
    ready: options.isAwaited === true ? isReady : undefined,
  });
}
