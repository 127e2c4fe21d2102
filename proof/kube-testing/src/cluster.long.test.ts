import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isForbidden,
  parseForeignKubeconfig,
  KubeconfigError,
  serviceAccountToken,
  createKubeClient,
} from "@klutch/kube";
import { namespaces, serviceAccounts as accounts } from "@klutch/kube-core";
import { startCluster } from "./cluster.ts";
import { waitFor } from "./wait-for.ts";

test("a cluster authorises by RBAC, issues tokens, and its controller manager makes accounts and ends namespaces", async () => {
  await using cluster = await startCluster({ controllerManager: true });
  const { client, config } = cluster;
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  const account = { namespace: "a", name: "default" };
  await waitFor("the default service account", () => client.find(accounts, account));
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: 600 });
  await using nobody = createKubeClient({ ...config, auth: { kind: "token", token } });
  await assert.rejects(nobody.list(namespaces), isForbidden);
  await client.delete(namespaces, { name: "a" });
  await waitFor(
    "the namespace to be gone",
    async () => (await client.find(namespaces, { name: "a" })) === undefined,
  );
  assert.throws(
    () => parseForeignKubeconfig(cluster.kubeconfig),
    (error) => error instanceof KubeconfigError && error.field.endsWith("namespace"),
  );
});

test("two clusters run side by side and leave no process behind", async () => {
  const first = await startCluster({ name: "first" });
  const second = await startCluster({ name: "second" });
  assert.notEqual(first.url, second.url);
  await Promise.all([first[Symbol.asyncDispose](), second[Symbol.asyncDispose]()]);
  const groups = [...first.processes, ...second.processes].map(({ pid }) => pid);
  await waitFor("every process group to be gone", () => groups.every((group) => !groupExists(group)));
});

test("killed servers come back at their place with everything that was acknowledged", async () => {
  await using cluster = await startCluster({ name: "crash", fsync: true });
  const { client, url } = cluster;
  const before = cluster.processes.map(({ pid }) => pid);
  const create = (name: string): Promise<unknown> =>
    client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await create("first");
  await cluster.kill("etcd");
  assert.equal(cluster.etcd.hasExited, true);
  await cluster.restart("etcd");
  await waitFor("the API server to find etcd again", () => create("second"));
  await cluster.kill("apiserver");
  await assert.rejects(client.find(namespaces, { name: "first" }));
  await cluster.restart("apiserver");
  assert.equal(cluster.url, url);
  for (const name of ["first", "second"]) assert.ok(await client.find(namespaces, { name }));
  assert.ok(cluster.processes.every(({ pid }) => !before.includes(pid)));
});

function groupExists(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}
