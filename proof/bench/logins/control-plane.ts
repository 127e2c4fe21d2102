/** A control plane, a Dex and one backend of some checkout, as processes of which the CPU time is known. */
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiServiceExportTemplates, bindCrds, templateGroup } from "@klutch/api";
import { dexIssuer, reservePorts, type RunningProcess, startDex, startProcess } from "@klutch/engines";
import { decodeObject, formatKubeconfig, parseYamlDocuments } from "@klutch/kube";
import { clusterRoleBindings, clusterRoles, type KubeObject } from "@klutch/kube-core";
import {
  accountConfig,
  applyPolicies,
  installKinds,
  installRights,
  objectOfType,
  type OwnCluster,
  startCluster,
} from "@klutch/kube-testing";
import { offerDatabases } from "../../e2e/security/bound-fixture.ts";

/** A backend as it ships. */
export interface BuiltBackend {
  /** Root of its checkout. */
  readonly tree: string;
  readonly bundle: string;
}

/** The running parts. */
export interface ControlPlane extends AsyncDisposable {
  /** URL of the backend. */
  readonly url: string;
  readonly backend: RunningProcess;
  /** Processes by the name in the report. */
  readonly processes: Readonly<Record<"backend" | "API server" | "etcd" | "Dex", number>>;
}

const account = { namespace: "klutch-backend", name: "klutch-backend" };
const client = { id: "klutch", secret: "a-client-secret-of-the-bench" };

/** Returns the address at which this person of the Dex logs in. */
export function addressOf(person: number): string {
  return `person-${person}@example.com`;
}

/** Starts them; everybody who logs in may bind the one API. `nodeFlags`: of the backend's Node. */
export async function startControlPlane(
  { tree, bundle }: BuiltBackend,
  people: number,
  nodeFlags: readonly string[],
): Promise<ControlPlane> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-logins-"))).path;
  const { ports } = stack.use(await reservePorts(3));
  const [dexPort = 0, port = 0, probePort = 0] = ports;
  const url = `http://127.0.0.1:${port}`;
  const callbackUrl = `${url}/callback`;
  const persons = Array.from({ length: people }, (_, index) => ({
    email: addressOf(index),
    username: `person-${index}`,
    userID: `the-id-of-person-${index}`,
  }));
  const [cluster, dex] = await Promise.all([
    startCluster({ name: "logins", controllerManager: true }),
    startDex(dexPort, folder, { client: { ...client, callbackUrl }, people: persons }),
  ]);
  stack.use(cluster);
  stack.use(dex);
  await install(cluster, tree);
  const kubeconfig = join(folder, "backend.kubeconfig");
  const config = await accountConfig(cluster, account);
  await writeFile(kubeconfig, formatKubeconfig(config), { mode: 0o600 });
  const backend = await startProcess({
    name: "backend",
    command: process.execPath,
    args: [
      ...nodeFlags,
      bundle,
      `--kubeconfig=${kubeconfig}`,
      `--listen-address=127.0.0.1:${port}`,
      `--probe-port=${probePort}`,
      `--oidc-issuer-url=${dexIssuer(dexPort)}`,
      `--oidc-issuer-client-id=${client.id}`,
      `--oidc-issuer-client-secret=${client.secret}`,
      `--oidc-callback-url=${callbackUrl}`,
      `--cookie-signing-key=${Buffer.alloc(32, 7).toString("base64")}`,
    ],
    env: { POD_NAME: "backend" },
    logFile: join(folder, "backend.log"),
    ready: async () => (await fetch(`http://127.0.0.1:${probePort}/readyz`)).ok,
  });
  stack.use(backend);
  const processes = {
    backend: backend.pid,
    "API server": cluster.apiServer.pid,
    etcd: cluster.etcd.pid,
    Dex: dex.pid,
  };
  return Object.assign(stack.move(), { url, backend, processes });
}

/** Installs rights and policies of the checkout. The kinds are ours, which an earlier backend takes as in an upgrade. */
async function install(cluster: OwnCluster, tree: string): Promise<void> {
  const { client: admin } = cluster;
  await installKinds(admin, bindCrds);
  const shipped: KubeObject[] = [];
  for (const name of ["backend-rbac.yaml", "control-plane-mode.yaml"])
    for (const object of parseYamlDocuments(await readFile(join(tree, "deploy", name), "utf8")))
      shipped.push(decodeObject<KubeObject>(object, name));
  await installRights(admin, shipped);
  await applyPolicies(
    admin,
    shipped.filter(({ kind }) => kind.startsWith("Validating")),
  );
  await offerDatabases(admin);
  const name = "everyone-binds";
  const resources = [apiServiceExportTemplates.plural];
  const rules = [{ apiGroups: [templateGroup], resources, verbs: ["bind"] }];
  await admin.create(clusterRoles, objectOfType(clusterRoles, { name }, { rules }));
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:authenticated" }];
  await admin.create(clusterRoleBindings, objectOfType(clusterRoleBindings, { name }, { roleRef, subjects }));
}
