/** An app cluster and a control plane as real nodes, with konnector and backend in Pods, installed by their charts. Needs root. */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backendPolicyName, consumerNamespace } from "@klutch/api";
import { resolveEngine, run } from "@klutch/engines";
import { type NodeCluster, openNodeNetwork, startNodeClusters, startNodeRegistry } from "@klutch/nodes";
import { pushLayout } from "@klutch/oci";
import {
  type BindingFixture,
  logIn,
  offerDatabases,
  pluginFor,
  tenants,
} from "../../e2e/security/bound-fixture.ts";

const tree = join(import.meta.dirname, "..", "..", "..");
const images = ["backend", "konnector"];

/** Starts it: a tenant has logged in, nothing is bound. */
export async function startDrainFixture(): Promise<BindingFixture & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-drain-")));
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
  return Object.assign(stack.move(), {
    appCluster: { client: appCluster.client, dataDir: folder },
    controlPlane,
    kubectlBind: pluginFor(admin),
  });
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
