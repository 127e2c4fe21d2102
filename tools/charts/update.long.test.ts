/**
 * A konnector that follows updates, in Pods of a real node (designs/0035-waves.md): the wanted version is what runs, one that does not start leaves the one
 * that runs, and the way back is open. The cluster is its own control plane. Needs root.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bindCrds,
  binderName,
  binderRules,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  klutchVersion,
  konnectorName,
  kubeconfigKey,
  releaseRegistry,
  wantedKonnectorLabel,
} from "@klutch/api";
import { formatKubeconfig } from "@klutch/kube";
import { deployments, type DynamicObject, namespaces, recordsAt, secrets, textAt } from "@klutch/kube-core";
import {
  accountConfig,
  installKinds,
  installRights,
  namespaceObject,
  objectOfType,
  roleBindingObject,
  roleObject,
  secretObject,
  serviceAccountObject,
  waitFor,
} from "@klutch/kube-testing";
import {
  type NodeCluster,
  openNodeNetwork,
  startNodeCluster,
  startNodeRegistry,
  whyUnfit,
} from "@klutch/nodes";
import { chartPath, startHelm } from "./testing/helm.ts";
import { pushImages, pushKonnectorOf } from "./testing/images.ts";
import { listReadyPods } from "./testing/pods.ts";
import { atHome } from "./testing/values.ts";

const tenant = "cluster-test";
const ofTenant = { namespace: tenant, name: clusterBindingName };
const konnector = { namespace: consumerNamespace, name: konnectorName };
const next = klutchVersion.replace(/\d+$/, (patch) => String(Number(patch) + 1));
const missing = klutchVersion.replace(/\d+$/, (patch) => String(Number(patch) + 2));
const patience = { timeoutMs: 180_000, intervalMs: 500 };

test("Pods of the konnector run the wanted version, stay when one does not start, and go back", {
  skip: (await whyUnfit()) ?? false,
}, async (t) => {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await openNodeNetwork());
  const registry = stack.use(await startNodeRegistry(network));
  const pushed = await pushImages(registry.url, ["konnector"]);
  if (typeof pushed === "string") {
    t.skip(`the Debian packages of the images cannot be had: ${pushed}`);
    return;
  }
  const image = pushed.get("konnector");
  assert.ok(image !== undefined);
  await pushKonnectorOf(next, image, registry.url);
  const [host = ""] = releaseRegistry.split("/");
  const cluster = stack.use(await startNodeCluster({ network, registries: { [host]: registry.url } }));
  const { client } = cluster;
  await bindByHand(cluster);
  const helm = stack.use(await startHelm(cluster.kubeconfig));
  const bindings = [{ name: "widgets.example.org", secretName: kubeconfigKey }];
  const values = await helm.values({ bindings, followUpdates: "patch" });
  const chart = ["klutch-konnector", chartPath("klutch-konnector"), ...atHome["klutch-konnector"]];
  await helm.run("upgrade", "--install", ...chart, "--wait", "--timeout", "180s", "-f", values);
  // The default is ten minutes.
  await client.mergePatch(deployments, konnector, { spec: { progressDeadlineSeconds: 15 } });

  const status = async (): Promise<unknown> =>
    (await client.get<DynamicObject>(clusterBindings, ofTenant)).status;
  const says = async (...path: readonly string[]): Promise<string | undefined> =>
    textAt(await status(), ...path);
  const want = (version: string): Promise<unknown> =>
    client.mergePatch(clusterBindings, ofTenant, {
      metadata: { annotations: { [wantedKonnectorLabel]: version } },
    });
  /** Images of the ready Pods. */
  const ready = async (): Promise<readonly (string | undefined)[]> => {
    const found = await listReadyPods(client, consumerNamespace);
    return found.map((pod) => textAt(recordsAt(pod, "spec", "containers")[0], "image"));
  };
  const imageOf = (version: string): string => `${releaseRegistry}/${konnectorName}:${version}`;
  const untilRunning = async (version: string): Promise<void> => {
    await waitFor(`${version} to run`, async () => (await says("konnectorVersion")) === version, patience);
    const both = [imageOf(version), imageOf(version)];
    await waitFor("both Pods", async () => JSON.stringify(await ready()) === JSON.stringify(both), patience);
  };

  await untilRunning(klutchVersion);
  assert.equal(await says("konnectorUpdates", "floor"), klutchVersion);
  await want(next);
  await untilRunning(next);
  await want(missing);
  const problem = async (): Promise<string> => (await says("konnectorUpdates", "problem")) ?? "";
  await waitFor("the words", async () => (await problem()).includes(`${missing} does not start`), patience);
  assert.equal(await says("konnectorVersion"), next, "the version before goes on working");
  assert.ok((await ready()).includes(imageOf(next)));
  await want(klutchVersion);
  await untilRunning(klutchVersion);
  assert.equal(await problem(), "");
});

/** Makes what a backend and `kubectl bind` make: a tenant of the cluster, and its kubeconfig where the konnector looks for it. */
async function bindByHand(cluster: NodeCluster): Promise<void> {
  const { client } = cluster;
  await installKinds(client, bindCrds);
  for (const name of [tenant, consumerNamespace]) await client.create(namespaces, namespaceObject(name));
  const account = { namespace: tenant, name: binderName };
  const role = { kind: "ClusterRole", name: binderName } as const;
  await installRights(client, [
    serviceAccountObject(account),
    roleObject({ name: binderName }, binderRules),
    roleBindingObject(account, role, account),
  ]);
  const spec = {
    kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey },
    providerPrettyName: "Test",
  };
  await client.create(clusterBindings, objectOfType(clusterBindings, ofTenant, { spec }));
  const config = await accountConfig(cluster, account);
  const kubeconfig = formatKubeconfig({ ...config, name: "provider", namespace: tenant });
  for (const namespace of [tenant, consumerNamespace])
    await client.create(secrets, secretObject(namespace, kubeconfigKey, { [kubeconfigKey]: kubeconfig }));
}
