import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { after, test } from "node:test";
import { createKubeClient, discoverResource, isNotFound, type KubeClient } from "@klutch/kube";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  namespaces,
  type ObjectMeta,
  type ResourceType,
  secrets,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { applyPolicies, installKinds } from "../install.ts";
import { anyObject, crdObject, namespaceObject, objectOfType, secretObject } from "../objects.ts";
import { waitFor } from "../wait-for.ts";
import { leaseCluster } from "./lease.ts";
import { ClusterPool } from "./pool.ts";

const pool = await ClusterPool.open();
after(() => pool[Symbol.asyncDispose]());
const { socket } = pool;
const widgets: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};
const widgetCrd = (field: string): DynamicObject =>
  crdObject(widgets, { properties: { [field]: anyObject }, hasStatus: true });
const widget = (field: string): DynamicObject => ({
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { namespace: "default", name: "one" },
  [field]: {},
});
const configMaps: ResourceType = { ...secrets, plural: "configmaps", kind: "ConfigMap" };

/** Waits until the last borrower's cluster can be lent again. */
const untilIdle = (count: number): Promise<unknown> =>
  waitFor("the pool to have idle clusters", () => pool.counts.idle === count, { timeoutMs: 30_000 });

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
const matchConstraints = { resourceRules: [rule] };

/** Refuses every new ConfigMap in the cluster, and lets it mark every new Secret where it can. */
async function applyForeignPolicies(client: KubeClient): Promise<void> {
  const policy = async (types: readonly [ResourceType, ResourceType], spec: object, bound: object) => {
    const metadata = { name: "foreign" };
    const made = [
      objectOfType(types[0], metadata, { spec }),
      objectOfType(types[1], metadata, { spec: { policyName: "foreign", ...bound } }),
    ];
    await applyPolicies(client, made);
  };
  await policy(
    [validatingAdmissionPolicies, validatingAdmissionPolicyBindings],
    { matchConstraints, validations: [{ expression: "false", message: "no ConfigMaps here" }] },
    { validationActions: ["Deny"] },
  );
  let tries = 0;
  const next = (): ObjectMeta => ({ namespace: "default", name: `try-${tries++}` });
  await waitFor("the policy to count", async () =>
    client.create<DynamicObject>(configMaps, objectOfType(configMaps, next())).then(
      () => false,
      () => true,
    ),
  );
  if ((await discoverResource(client, mutatingAdmissionPolicies)) === undefined) return;
  const ofSecrets = { resourceRules: [{ ...rule, resources: ["secrets"] }] };
  const expression = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'foreign': 'yes'}}]";
  const mutations = [{ patchType: "JSONPatch", jsonPatch: { expression } }];
  await policy(
    [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings],
    { matchConstraints: ofSecrets, mutations, reinvocationPolicy: "Never" },
    {},
  );
  await waitFor("Secrets to be marked", async () => (await newLabels(client, next())) !== undefined);
}

const newLabels = async (client: KubeClient, metadata: ObjectMeta): Promise<ObjectMeta["labels"]> =>
  (await client.create<DynamicObject>(secrets, objectOfType(secrets, metadata))).metadata.labels;

test("a cluster that is given back has nothing of its borrower, and is lent again", async () => {
  const first = await leaseCluster({ socket });
  const { url } = first;
  await installKinds(first.client, [widgetCrd("spec")]);
  await first.client.create(widgets, widget("spec"));
  await first.client.create(namespaces, namespaceObject("mine"));
  await first.client.create(secrets, secretObject("mine", "s", { a: "b" }));
  const view = await first.client.get<DynamicObject>(clusterRoles, { name: "view" });
  await first.client.replace<DynamicObject>(clusterRoles, { ...view, rules: [] });
  await first.client.delete(clusterRoles, { name: "edit" });
  await applyForeignPolicies(first.client);
  // The API server writes it after five minutes, and panics when it is gone later.
  const compaction = { key: Buffer.from("compact_rev_key").toString("base64") };
  await first.askEtcd("/v3/kv/put", { ...compaction, value: Buffer.from("1").toString("base64") });
  await first[Symbol.asyncDispose]();
  await untilIdle(1);

  await using second = await leaseCluster({ socket });
  assert.equal(second.url, url);
  const { client } = second;
  assert.match(await second.askEtcd("/v3/kv/range", compaction), /"count":"1"/);
  assert.deepEqual((await client.list(customResourceDefinitions)).items, []);
  await assert.rejects(client.get(namespaces, { name: "mine" }), isNotFound);
  assert.deepEqual((await client.list(secrets)).items, []);
  const restored = await client.get<DynamicObject>(clusterRoles, { name: "view" });
  assert.deepEqual(restored["rules"], view["rules"]);
  await client.get(clusterRoles, { name: "edit" });
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name: "mine" } };
  await client.create<DynamicObject>(configMaps, object);
  assert.equal(await newLabels(client, { namespace: "default", name: "mine" }), undefined);
  // The same kind again, with another schema.
  await installKinds(client, [widgetCrd("other")]);
  assert.deepEqual((await client.list(widgets)).items, []);
  const made = await client.create<DynamicObject>(widgets, widget("other"));
  assert.deepEqual(made["other"], {});
});

test("two borrowers never have the same cluster, and controllers run only for a borrower that asked", async () => {
  await untilIdle(1);
  await using plain = await leaseCluster({ socket });
  await using managed = await leaseCluster({ socket, controllerManager: true });
  assert.notEqual(plain.url, managed.url);
  const account = { ...secrets, plural: "serviceaccounts", kind: "ServiceAccount" };
  const ref = { namespace: "default", name: "default" };
  await waitFor("the default account", async () => (await managed.client.find(account, ref)) !== undefined);
  assert.equal(await plain.client.find(account, ref), undefined);
});

test("a cluster whose borrower ended without a word is killed, not lent again", async () => {
  await untilIdle(2);
  const { started } = pool.counts;
  const borrower = connect(socket);
  const [line] = (await once(borrower.setEncoding("utf8"), "data")) as [string];
  const lease = JSON.parse(line) as { readonly server: string; readonly adminToken: string };
  borrower.destroy();
  await using client = createKubeClient(
    { name: "gone", server: lease.server, auth: { kind: "none" } },
    { flowControl: false },
  );
  await waitFor("the server to be gone", () =>
    client.request({ method: "GET", path: "/livez" }).then(
      () => false,
      (error: unknown) => /ECONNREFUSED/.test(String((error as Error).cause ?? error)),
    ),
  );
  await untilIdle(1);
  await using one = await leaseCluster({ socket });
  await using other = await leaseCluster({ socket });
  // A new cluster may get the port, but not the token.
  for (const { auth } of [one.config, other.config])
    assert.ok(auth.kind === "token" && auth.token.reveal() !== lease.adminToken);
  assert.equal(pool.counts.started, started + 1);
});
