/** A real cluster's control plane (etcd, kube-apiserver, optionally kube-controller-manager) as processes on loopback. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  type KubernetesVersion,
  reservePorts,
  resolveEngine,
  type RunningProcess,
  startProcess,
} from "@klutch/engines";
import { type ClusterConfig, createKubeClient, formatKubeconfig, type KubeClient } from "@klutch/kube";
import { Secret } from "@klutch/telemetry";
import { chosenKubernetes } from "./environment.ts";
import { askEtcd, etcdAddress, startEtcd } from "./etcd.ts";

/** Controllers of Kubernetes that run. */
export type ControllerManager = boolean | "quotas";

/** Options of `startCluster`. */
export interface ClusterOptions {
  /** Name in messages and log files. Default `cluster`. */
  readonly name?: string | undefined;
  /** Runs garbage collection, namespace deletion, service accounts and role aggregation; `quotas` counts for ResourceQuotas as well. Default false. */
  readonly controllerManager?: ControllerManager | undefined;
  /** Default false: etcd does not wait for the disk. Set it for figures of record and for data that must survive. */
  readonly fsync?: boolean | undefined;
  /** Kept between starts when given, and closed for other users; otherwise temporary and removed. */
  readonly dataDir?: string | undefined;
  /** Port of the API server. Default: a free one. */
  readonly port?: number | undefined;
  /** Added to the API server's own, such as an audit policy. Default: none. */
  readonly apiServerArgs?: readonly string[] | undefined;
  /** Default: the version of control planes that `KLUTCH_KUBERNETES` names, else the pinned one. */
  readonly kubernetes?: KubernetesVersion | undefined;
}

/** The servers that every cluster has. */
export type ClusterServer = "etcd" | "apiserver";

/** A cluster that runs. Disposing it ends the processes that were started for it. */
export interface TestCluster extends AsyncDisposable {
  readonly url: string;
  /** Configuration of the administrator (system:masters), for set-up only. */
  readonly config: ClusterConfig;
  /** The same as YAML text. */
  readonly kubeconfig: string;
  /** A client of the administrator. */
  readonly client: KubeClient;
  /** Folder for files of the test; `certs` in it holds the API server's certificate. */
  readonly dataDir: string;
  /** Asks etcd's JSON gateway past the API server: POST with a body, else GET. Throws unless the answer is 200. */
  readonly askEtcd: (path: string, body?: object) => Promise<string>;
}

/** A cluster whose servers belong to this process. Disposing it ends them and removes a temporary data folder. */
export interface OwnCluster extends TestCluster {
  /** The process that serves now; another one after `restart`. */
  readonly apiServer: RunningProcess;
  /** The same for etcd. */
  readonly etcd: RunningProcess;
  readonly processes: readonly RunningProcess[];
  /** Sends SIGKILL, as a crash would. `fsync` decides if etcd's acknowledged writes survive an unclean end of the machine. */
  kill(server: ClusterServer): Promise<void>;
  /** Starts it again with the same port, data and certificates, after SIGKILL if it still runs; resolves when it is ready. */
  restart(server: ClusterServer): Promise<void>;
}

/**
 * Starts a cluster of one's own; ready means the API server answers and its bootstrap roles exist. A test that neither kills, restarts nor
 * configures its servers takes `leaseCluster` instead, which is faster.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<OwnCluster> {
  await using stack = new AsyncDisposableStack();
  const { name = "cluster", fsync = false } = options;
  const temporary =
    options.dataDir === undefined ? await mkdtempDisposable(join(tmpdir(), "klutch-cluster-")) : undefined;
  stack.use(temporary);
  const dataDir = temporary?.path ?? resolve(options.dataDir ?? "");
  const port = options.port ?? stack.use(await reservePorts(1)).ports[0] ?? 0;
  const files = await prepareFiles(dataDir);
  // The memory of a temporary cluster is not needed any more, and an orderly end takes seconds.
  const end = temporary === undefined ? "stop" : "kill";
  const etcd = stack.use(
    await restartable(() => startEtcd(name, dataDir, { fsync, env: garbageOf(options) }), end),
  );
  const startServer = (): Promise<RunningProcess> => startApiServer(name, dataDir, port, files, options);
  const apiserver = stack.use(await restartable(startServer, end));
  const access = await accessAsAdministrator(stack, name, serverAt(port), dataDir, files.adminToken);
  const others: RunningProcess[] = [];
  const { controllerManager = false, kubernetes } = options;
  if (controllerManager !== false) {
    const parts = { name, dataDir, controllerManager };
    const manager = await startControllerManager(parts, access.config, kubernetes);
    stack.defer(() => manager[end]());
    others.push(manager);
  }
  const servers: Readonly<Record<ClusterServer, Restartable>> = { etcd, apiserver };
  const owned = stack.move();
  return {
    ...access,
    kubeconfig: formatKubeconfig(access.config, name),
    get apiServer() {
      return apiserver.running;
    },
    get etcd() {
      return etcd.running;
    },
    askEtcd: (path, body) => askEtcd(dataDir, path, body),
    get processes() {
      return [etcd.running, apiserver.running, ...others];
    },
    kill: (server) => servers[server].running.kill(),
    restart: (server) => servers[server].restart(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns the administrator's ways to a cluster, whose client `stack` ends; `dataDir` holds the API server's certificate. */
export async function accessAsAdministrator(
  stack: AsyncDisposableStack,
  name: string,
  url: string,
  dataDir: string,
  adminToken: string,
): Promise<Pick<TestCluster, "url" | "config" | "kubeconfig" | "client" | "dataDir">> {
  const config = await administratorConfig(name, url, dataDir, adminToken);
  const client = stack.use(createKubeClient(config, { userAgent: "klutch-admin", flowControl: false }));
  return { url, config, kubeconfig: formatKubeconfig(config), client, dataDir };
}

async function administratorConfig(
  name: string,
  server: string,
  dataDir: string,
  adminToken: string,
): Promise<ClusterConfig> {
  const ca = await readFile(join(dataDir, "certs", "apiserver.crt"), "utf8");
  return { name, server, ca, auth: { kind: "token", token: new Secret(adminToken) } };
}

function serverAt(port: number): string {
  return `https://127.0.0.1:${port}`;
}

/** A server that can be killed and started again at its place. */
interface Restartable extends AsyncDisposable {
  readonly running: RunningProcess;
  readonly restart: () => Promise<void>;
}

/** Starts it; `end` decides how disposing ends it. */
async function restartable(start: () => Promise<RunningProcess>, end: "kill" | "stop"): Promise<Restartable> {
  let running = await start();
  let restarting: Promise<void> | undefined;
  const again = async (): Promise<void> => {
    await running.kill();
    running = await start();
  };
  return {
    get running() {
      return running;
    },
    restart: () => (restarting ??= again().finally(() => (restarting = undefined))),
    /** A restart under way is waited for: nothing may start after the end. */
    async [Symbol.asyncDispose]() {
      await restarting?.catch(() => undefined);
      await running[end]();
    },
  };
}

interface ClusterFiles {
  readonly adminToken: string;
  readonly tokenFile: string;
  readonly accountKey: string;
}

/** Keys of the cluster; made once and kept with its data. */
async function prepareFiles(dataDir: string): Promise<ClusterFiles> {
  await mkdir(dataDir, { recursive: true });
  // A user who can enter this folder is the cluster's administrator, by token and by etcd's socket. An older version left it open.
  await chmod(dataDir, 0o700);
  const tokenFile = join(dataDir, "admin-token.csv");
  const accountKey = join(dataDir, "service-account.key");
  if (!existsSync(tokenFile)) {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await writeFile(accountKey, privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
    const token = randomBytes(24).toString("hex");
    await writeFile(tokenFile, `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
  }
  const adminToken = (await readFile(tokenFile, "utf8")).split(",")[0] ?? "";
  return { adminToken, tokenFile, accountKey };
}

/** Returns the environment by which servers collect their garbage. Temporary ones do it less often: their memory does not matter. */
function garbageOf({ dataDir }: Pick<ClusterOptions, "dataDir">): Readonly<Record<string, string>> {
  return dataDir === undefined ? { GOGC: "400" } : {};
}

async function startApiServer(
  name: string,
  dataDir: string,
  port: number,
  files: ClusterFiles,
  { apiServerArgs = [], kubernetes = chosenKubernetes().controlPlane, ...options }: ClusterOptions,
): Promise<RunningProcess> {
  return startProcess({
    name: `${name} kube-apiserver`,
    command: await resolveEngine("kube-apiserver", { kubernetes }),
    args: [
      `--etcd-servers=${etcdAddress}`,
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--cert-dir=${join(dataDir, "certs")}`,
      `--service-account-key-file=${files.accountKey}`,
      `--service-account-signing-key-file=${files.accountKey}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--token-auth-file=${files.tokenFile}`,
      "--authorization-mode=RBAC",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--disable-admission-plugins=ServiceAccount",
      // Set as on real nodes: an object that our admission policy refuses must not be refused earlier.
      "--allow-privileged",
      "--endpoint-reconciler-type=none",
      ...apiServerArgs,
    ],
    env: garbageOf(options),
    cwd: dataDir,
    logFile: join(dataDir, "kube-apiserver.log"),
    // Then it is past its bootstrap, too: the default roles exist.
    ready: async () => {
      const config = await administratorConfig("probe", serverAt(port), dataDir, files.adminToken);
      await using client = createKubeClient(config, { flowControl: false });
      return (await client.request({ method: "GET", path: "/readyz" })) !== undefined;
    },
    // It waits for open watches of clients that did not notice; they lose nothing by a hard end.
    stopTimeoutMs: 8_000,
  });
}

const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "root-ca-certificate-publisher-controller",
  "clusterrole-aggregation-controller",
];

/** Starts the controllers that a cluster needs for its own objects; `dataDir` holds the cluster's certificates and keys. */
export async function startControllerManager(
  {
    name,
    dataDir,
    controllerManager,
  }: { readonly name: string; readonly dataDir: string; readonly controllerManager: ControllerManager },
  config: ClusterConfig,
  kubernetes: KubernetesVersion = chosenKubernetes().controlPlane,
): Promise<RunningProcess> {
  const kubeconfig = join(dataDir, "controller-manager.kubeconfig");
  await writeFile(kubeconfig, formatKubeconfig(config), { mode: 0o600 });
  return startProcess({
    name: `${name} kube-controller-manager`,
    command: await resolveEngine("kube-controller-manager", { kubernetes }),
    args: [
      `--kubeconfig=${kubeconfig}`,
      "--secure-port=0",
      "--leader-elect=false",
      `--root-ca-file=${join(dataDir, "certs", "apiserver.crt")}`,
      `--service-account-private-key-file=${join(dataDir, "service-account.key")}`,
      "--use-service-account-credentials=false",
      `--controllers=${[...controllers, ...(controllerManager === "quotas" ? ["resourcequota-controller"] : [])].join(",")}`,
      // It discovers a new kind within half a minute, and counts its objects at the next round: by default after five minutes.
      "--resource-quota-sync-period=5s",
    ],
    logFile: join(dataDir, "kube-controller-manager.log"),
  });
}
