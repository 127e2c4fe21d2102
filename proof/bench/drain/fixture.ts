/** An app cluster and a control plane as real nodes, with konnector and backend in Pods, installed by their charts. Needs root. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { binderName, backendPolicyName, consumerNamespace } from "@klutch/api";
import { ownProgram, resolveEngine } from "@klutch/engines";
import { formatKubeconfig, serviceAccountToken } from "@klutch/kube";
import { type NodeCluster, openNodeNetwork, startNodeClusters, startNodeRegistry } from "@klutch/nodes";
import { pushLayout } from "@klutch/oci";
import { logIn, offerDatabases, tenants } from "../../e2e/security/bound-fixture.ts";
import { temporaryFolder } from "../harness/fixture.ts";
import type { LivingFixture } from "../../e2e/upgrade/living-claims.ts";

const run = promisify(execFile);
const tree = join(import.meta.dirname, "..", "..", "..");
const images = ["backend", "konnector"];

/** Starts it: a tenant has logged in, nothing is bound. */
export async function startDrainFixture(): Promise<LivingFixture & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder("klutch-drain-")).path;
  const network = stack.use(await openNodeNetwork());
  const registry = stack.use(await startNodeRegistry(network));
  const registries = { "registry.klutch.example": registry.url };
  const [clusters] = await Promise.all([
    startNodeClusters(["control-plane", "app-cluster"], { network, registries }),
    release(folder, registry.url),
  ]);
  for (const cluster of clusters) stack.use(cluster);
  const [controlPlane, appCluster] = clusters;
  if (controlPlane === undefined || appCluster === undefined) throw new Error("two clusters were asked for");
  const { server, ca } = controlPlane.config;
  await Promise.all([
    install(controlPlane, folder, "klutch", backendPolicyName, {
      apiServer: { address: server, ca },
      controlPlaneMode: true,
    }),
    install(appCluster, folder, "klutch-konnector", consumerNamespace, {}),
  ]);
  await offerDatabases(controlPlane.client);
  await logIn(controlPlane.client, tenants.a);
  const admin = await write(folder, "admin.kubeconfig", appCluster.kubeconfig);
  const owned = stack.move();
  return {
    appCluster: { client: appCluster.client, dataDir: folder },
    controlPlane,
    async kubectlBind(...args) {
      const command = [ownProgram("cli"), "--timeout=60s", "--kubeconfig", admin, ...args];
      return (await run(process.execPath, command)).stdout;
    },
    async kubeconfigFile(tenant) {
      const account = { namespace: tenant, name: binderName };
      const { token } = await serviceAccountToken(controlPlane.client, account, { expirationSeconds: 3600 });
      const config = { ...controlPlane.config, namespace: tenant, auth: { kind: "token", token } as const };
      return write(folder, `${tenant}.kubeconfig`, formatKubeconfig(config));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Builds the images as people do, and pushes them under the path of the release. */
async function release(folder: string, registry: string): Promise<void> {
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const chosen = images.map((name) => `--image=${name}`);
  const args = [`--out=${folder}`, `--architecture=${architecture}`, ...chosen];
  await run(process.execPath, [join(tree, "tools", "release", "main.ts"), ...args]);
  for (const name of images)
    await pushLayout(join(folder, "images", name), { registry, repository: `klutch/${name}` });
}

async function install(
  cluster: NodeCluster,
  folder: string,
  chart: string,
  namespace: string,
  values: object,
): Promise<void> {
  const kubeconfig = await write(folder, `${chart}.kubeconfig`, cluster.kubeconfig);
  const file = await write(folder, `${chart}.json`, JSON.stringify(values));
  const path = join(tree, "deploy", "charts", chart);
  const where = ["--namespace", namespace, "--create-namespace", "--kubeconfig", kubeconfig];
  const env = { PATH: "/usr/bin:/bin", HOME: folder };
  const args = ["install", chart, path, ...where, "--values", file, "--wait", "--timeout", "240s"];
  await run(await resolveEngine("helm"), args, { env });
}

async function write(folder: string, name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
