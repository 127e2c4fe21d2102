/** An app cluster and a control plane with the parts as processes, each with the account and the rights that are shipped for it. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type APIServiceExportRequest,
  apiServiceExportTemplates,
  bindCrds,
  binderName,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  identityAnnotation,
  konnectorManifests,
  konnectorName,
  kubeconfigKey,
} from "@klutch/api";
import {
  apiVersionOf,
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  type KubeObject,
  namespaces,
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
  serviceAccountToken,
} from "@klutch/kube";
import { ownProgram, reservePorts, type RunningProcess } from "@klutch/engines";
import {
  anyObject,
  type BackendProcess,
  crdObject,
  installRights,
  namespaceObject,
  serviceAccountObject,
  startBackendProcess,
  leaseCluster,
  type LeaseOptions,
  type OwnCluster,
  startCluster,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { startKonnector } from "./konnector-process.ts";

/** Limits bound objects to namespaces of the tenants, or allows them in the whole control plane. */
export type Scope = "Namespaced" | "Cluster";

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
  return { apiVersion: apiVersionOf(databases), kind: databases.kind, metadata: { namespace, name }, spec };
}

/** A tenant asks for the API. The plugin takes it without a namespace. */
export function exportRequest(namespace?: string): APIServiceExportRequest {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportRequest",
    metadata: { namespace, name: databasesName },
    spec: { resources: [{ group: databases.group, resource: databases.plural }] },
  };
}

/** A program that is started, and what the process is called. */
export interface StartedProgram {
  readonly program: string;
  readonly name: string;
}

/** Parts that may come from another release. */
export interface BoundFixtureOptions {
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
  /** A client with the credential of an account of the control plane. */
  readonly clientOf: (account: ObjectRef) => Promise<KubeClient>;
  /** The same as a configuration. */
  readonly configOf: (account: ObjectRef) => Promise<ClusterConfig>;
  /** A file with the kubeconfig of a tenant, as the backend hands it out. Default of `server`: the control plane itself. */
  readonly kubeconfigFile: (tenant: string, server?: string) => Promise<string>;
}

/** The part of a fixture that binding needs. */
export interface BindingFixture extends Pick<BoundFixture, "kubectlBind" | "kubeconfigFile"> {
  readonly appCluster: Pick<TestCluster, "dataDir">;
}

/** Tenant A binds the API with the plugin; app cluster and konnector reach the control plane at `server`. */
export async function bindDatabases(fixture: BindingFixture, server?: string): Promise<void> {
  const manifest = join(fixture.appCluster.dataDir, "request.yaml");
  await writeFile(manifest, formatYaml(exportRequest()));
  const remote = await fixture.kubeconfigFile(tenants.a, server);
  const flags = ["--accept-permissions", "--skip-konnector"];
  await fixture.kubectlBind("apiservice", "--remote-kubeconfig", remote, "-f", manifest, ...flags);
}

const tree = join(import.meta.dirname, "..", "..", "..");
const backendAccount = { namespace: "klutch-backend", name: "klutch-backend" };
const databaseCrd = crdObject(databases, {
  properties: { spec: anyObject, status: anyObject },
  hasStatus: true,
});
const template: DynamicObject = {
  apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
  kind: "APIServiceExportTemplate",
  metadata: { namespace: "default", name: "databases" },
  spec: {
    APIServiceSelector: { group: "example.org", resource: "databases" },
    permissionClaims: [{ group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" } }],
  },
};

/** Installs everything in two leased clusters and logs both tenants in; nothing is bound. */
export async function startBoundFixture(
  scope: Scope,
  options: BoundFixtureOptions = {},
): Promise<BoundFixture> {
  return startBoundFixtureIn(leaseCluster, scope, options);
}

/** Does the same in two clusters whose servers the test ends and starts again. */
export async function startOwnBoundFixture(
  scope: Scope,
  options: BoundFixtureOptions = {},
): Promise<BoundFixture<OwnCluster>> {
  return startBoundFixtureIn(startCluster, scope, options);
}

/** Does the same in two clusters that `makeCluster` makes. */
export async function startBoundFixtureIn<Cluster extends TestCluster>(
  makeCluster: (options: LeaseOptions) => Promise<Cluster>,
  scope: Scope,
  options: BoundFixtureOptions = {},
): Promise<BoundFixture<Cluster>> {
  await using stack = new AsyncDisposableStack();
  const [appCluster, controlPlane] = await Promise.all([
    makeCluster({ name: "app-cluster" }),
    makeCluster({ name: "control-plane", controllerManager: true }),
  ]);
  stack.use(appCluster);
  stack.use(controlPlane);
  // Everything that tests start ends before the clusters.
  const started = stack.use(new AsyncDisposableStack());
  const clientOf = async (account: ObjectRef): Promise<KubeClient> => {
    const client = createKubeClient(await accountConfig(controlPlane, account), { flowControl: false });
    return started.use(client);
  };
  const kubeconfigFile = async (tenant: string, server = controlPlane.url): Promise<string> => {
    const config = await accountConfig(controlPlane, { namespace: tenant, name: binderName });
    return writeKubeconfig(controlPlane, `${tenant}.kubeconfig`, { ...config, server, namespace: tenant });
  };
  await installControlPlane(controlPlane.client, options.crds ?? bindCrds);
  const startBackend = async (chosen: StartedProgram): Promise<BackendProcess> =>
    started.use(await runBackend(controlPlane, scope, chosen));
  const backend = await startBackend(options.backend ?? { program: ownProgram("backend"), name: "backend" });
  for (const tenant of Object.values(tenants)) await logIn(controlPlane.client, tenant);
  await installRights(appCluster.client, konnectorManifests({ image: "none" }));
  const admin = await writeKubeconfig(appCluster, "admin.kubeconfig", appCluster.config);
  const run = promisify(execFile);
  const kubectlBind = async (...args: readonly string[]): Promise<string> => {
    const command = [ownProgram("cli"), "--timeout=60s", "--kubeconfig", admin, ...args];
    const { stdout, stderr } = await run(process.execPath, command);
    return stdout + stderr;
  };
  const owned = stack.move();
  return {
    appCluster,
    controlPlane,
    kubectlBind,
    startKonnector: async (chosen = { program: ownProgram("konnector"), name: "konnector-1" }) =>
      started.use(await runKonnector(appCluster, chosen)),
    startBackend,
    backend,
    clientOf,
    configOf: (account) => accountConfig(controlPlane, account),
    kubeconfigFile,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function accountConfig(cluster: TestCluster, account: ObjectRef): Promise<ClusterConfig> {
  const { token } = await serviceAccountToken(cluster.client, account, { expirationSeconds: 24 * 3600 });
  return { ...cluster.config, auth: { kind: "token", token } };
}

async function writeKubeconfig(cluster: TestCluster, name: string, config: ClusterConfig): Promise<string> {
  const path = join(cluster.dataDir, name);
  await writeFile(path, formatKubeconfig(config), { mode: 0o600 });
  return path;
}

async function installControlPlane(client: KubeClient, crds: readonly KubeObject[]): Promise<void> {
  for (const crd of crds) await client.create<KubeObject>(customResourceDefinitions, crd);
  const shipped = parseYamlDocuments(await readFile(join(tree, "deploy", "backend-rbac.yaml"), "utf8"));
  await installRights(
    client,
    shipped.map((object) => decodeObject<KubeObject>(object, "backend-rbac.yaml")),
  );
  await offerDatabases(client);
}

/** Installs the kind, and offers it to app clusters. */
export async function offerDatabases(client: KubeClient): Promise<void> {
  await client.create<KubeObject>(customResourceDefinitions, databaseCrd);
  await waitFor("templates to be served", () => client.create(apiServiceExportTemplates, template));
}

async function runBackend(
  cluster: TestCluster,
  scope: Scope,
  chosen: StartedProgram,
): Promise<BackendProcess> {
  const kubeconfig = formatKubeconfig(await accountConfig(cluster, backendAccount));
  const flags = ["--control-plane-mode", `--consumer-scope=${scope}`];
  return startBackendProcess(cluster, { ...chosen, kubeconfig, servesLogin: false, flags });
}

/** Creates the objects that the backend creates at a person's login, and waits until its controllers have added the rights. */
export async function logIn(client: KubeClient, tenant: string): Promise<void> {
  const annotations = { [identityAnnotation]: `person-of-${tenant}#${tenant}` };
  const inside = (name: string): ObjectRef => ({ namespace: tenant, name });
  await client.create(namespaces, namespaceObject(tenant, annotations));
  await client.create(serviceAccounts, serviceAccountObject(inside(binderName)));
  await client.create<KubeObject>(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: inside(clusterBindingName),
    spec: {
      kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey },
      providerPrettyName: "Tests",
    },
  });
  await waitFor(`the rights of ${tenant}`, async () => {
    const roleBinding = await client.find(roleBindings, inside(binderName));
    const role = await client.find<DynamicObject>(clusterRoles, { name: `${binderName}-${tenant}` });
    return roleBinding !== undefined && role !== undefined && isRecord(role.metadata);
  });
}

async function runKonnector(cluster: TestCluster, chosen: StartedProgram): Promise<RunningProcess> {
  const config = await accountConfig(cluster, { namespace: consumerNamespace, name: konnectorName });
  const kubeconfig = await writeKubeconfig(cluster, `${chosen.name}.kubeconfig`, config);
  await using ports = await reservePorts(1);
  const logFile = join(cluster.dataDir, `${chosen.name}.log`);
  return startKonnector({ ...chosen, kubeconfig, port: ports.ports[0] ?? 0, logFile, isAwaited: true });
}
