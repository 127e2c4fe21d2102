/** The charts on a real node with our images: what they install runs, also after an upgrade and a rollback. Needs root. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { backendPolicyName, consumerNamespace, releaseRegistry } from "@klutch/api";
import { valueAt } from "@klutch/kube-core";
import { openNodeNetwork, startNodeCluster, startNodeRegistry, whyUnfit } from "@klutch/nodes";
import { chartPath, startHelm } from "./testing/helm.ts";
import { pushImages } from "./testing/images.ts";
import { listReadyPods } from "./testing/pods.ts";
import { atHome, minimal } from "./testing/values.ts";

const wait = ["--wait", "--timeout", "180s"];

test("Pods of both charts become ready and stay so through an upgrade and a rollback", {
  skip: (await whyUnfit()) ?? false,
}, async (t) => {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await openNodeNetwork());
  const registry = stack.use(await startNodeRegistry(network));
  const pushed = await pushImages(registry.url, ["backend", "konnector"]);
  if (typeof pushed === "string") {
    t.skip(`the Debian packages of the images cannot be had: ${pushed}`);
    return;
  }
  const [host = ""] = releaseRegistry.split("/");
  const registries = { [host]: registry.url };
  const cluster = stack.use(await startNodeCluster({ network, registries }));
  const helm = stack.use(await startHelm(cluster.kubeconfig));
  const install = async (name: keyof typeof atHome, values: object): Promise<string> => {
    const chart = [name, chartPath(name), ...atHome[name], "--create-namespace", ...wait];
    return helm.run("upgrade", "--install", ...chart, "-f", await helm.values(values));
  };
  /** Counts the ready Pods, and those of them that have the annotation `a`. */
  const readyPods = async (namespace: string): Promise<readonly [number, number]> => {
    const ready = await listReadyPods(cluster.client, namespace);
    const marked = ready.filter((pod) => valueAt(pod, "metadata", "annotations", "a") !== undefined);
    return [ready.length, marked.length];
  };

  // No identity provider is there, so the values have no login.
  const values = { apiServer: minimal.klutch.apiServer, controlPlaneMode: true };
  await Promise.all([install("klutch-konnector", {}), install("klutch", values)]);
  assert.deepEqual(await readyPods(consumerNamespace), [2, 0]);
  assert.deepEqual(await readyPods(backendPolicyName), [2, 0]);
  await install("klutch", { ...values, podAnnotations: { a: "b" } });
  assert.deepEqual(await readyPods(backendPolicyName), [2, 2]);
  await helm.run("rollback", "klutch", "1", ...atHome.klutch, ...wait);
  assert.deepEqual(await readyPods(backendPolicyName), [2, 0]);
});
