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

/** Policies of a borrower that its successor would notice. */
interface Foreign {
  readonly types: readonly [policies: ResourceType, bindings: ResourceType];
  readonly resources: readonly string[];
  readonly policy: object;
  readonly binding: object;
  /** Asks with a new object whether the policy is in force. */
  readonly isInForce: (client: KubeClient, metadata: ObjectMeta) => Promise<boolean>;
}

/** Refuses every new ConfigMap, and every namespace, such as that of the pool's marker. */
const refusing: Foreign = {
  types: [validatingAdmissionPolicies, validatingAdmissionPolicyBindings],
  resources: ["configmaps", "namespaces"],
  policy: { validations: [{ expression: "false", message: "no ConfigMaps here" }] },
  binding: { validationActions: ["Deny"] },
  isInForce: (client, metadata) =>
    client.create<DynamicObject>(configMaps, objectOfType(configMaps, metadata)).then(
      () => false,
      () => true,
    ),
};
const expression = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'foreign': 'yes'}}]";
/** Labels every new Secret. Kubernetes before 1.36 does not serve it. */
const labelling: Foreign = {
  types: [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings],
  resources: ["secrets"],
  policy: {
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
    reinvocationPolicy: "Never",
  },
  binding: {},
  isInForce: async (client, metadata) => (await newLabels(client, metadata)) !== undefined,
};

const isServed = async (client: KubeClient, { types }: Foreign): Promise<boolean> =>
  (await discoverResource(client, types[0])) !== undefined;

/** Applies the policy, and waits until it is in force. */
async function applyForeign(client: KubeClient, foreign: Foreign): Promise<void> {
  const { types, resources, policy, binding, isInForce } = foreign;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources };
  const spec = { matchConstraints: { resourceRules: [rule] }, ...policy };
  const metadata = { name: "foreign" };
  await applyPolicies(client, [
    objectOfType(types[0], metadata, { spec }),
    objectOfType(types[1], metadata, { spec: { policyName: "foreign", ...binding } }),
  ]);
  let tries = 0;
  await waitFor("the policy to be in force", () =>
    isInForce(client, { namespace: "default", name: `try-${tries++}` }),
  );
}

const newLabels = async (client: KubeClient, metadata: ObjectMeta): Promise<ObjectMeta["labels"]> =>
  (await client.create<DynamicObject>(secrets, objectOfType(secrets, metadata))).metadata.labels;

async function assertNoForeignPolicies(client: KubeClient): Promise<void> {
  const mine = { namespace: "default", name: "mine" };
  await client.create<DynamicObject>(configMaps, objectOfType(configMaps, mine));
  assert.equal(await newLabels(client, mine), undefined);
}

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
  await applyForeign(first.client, refusing);
  if (await isServed(first.client, labelling)) await applyForeign(first.client, labelling);
  // The API server writes it after five minutes, and panics when it is gone later.
  const compaction = { key: Buffer.from("compact_rev_key").toString("base64") };
  await first.askEtcd("/v3/kv/put", { ...compaction, value: Buffer.from("1").toString("base64") });
  await first[Symbol.asyncDispose]();
  await untilIdle(1);

  await using second = await leaseCluster({ socket });
  assert.equal(second.url, url);
  const { client } = second;
  assert.deepEqual((await client.list(secrets)).items, []);
  // Comes early, because the server would forget them by itself a second later.
  await assertNoForeignPolicies(client);
  assert.match(await second.askEtcd("/v3/kv/range", compaction), /"count":"1"/);
  assert.deepEqual((await client.list(customResourceDefinitions)).items, []);
  await assert.rejects(client.get(namespaces, { name: "mine" }), isNotFound);
  const restored = await client.get<DynamicObject>(clusterRoles, { name: "view" });
  assert.deepEqual(restored["rules"], view["rules"]);
  await client.get(clusterRoles, { name: "edit" });
  // The same kind again, with another schema.
  await installKinds(client, [widgetCrd("other")]);
  assert.deepEqual((await client.list(widgets)).items, []);
  const made = await client.create<DynamicObject>(widgets, widget("other"));
  assert.deepEqual(made["other"], {});
});

for (const foreign of [refusing, labelling])
  test(`a policy of ${foreign.types[0].plural} that its borrower deleted just before its end is not in force for the next one`, async (t) => {
    await untilIdle(1);
    const first = await leaseCluster({ socket });
    const { url, client } = first;
    if (!(await isServed(client, foreign))) {
      t.skip("this version of Kubernetes does not serve the kind");
      return first[Symbol.asyncDispose]();
    }
    await applyForeign(client, foreign);
    for (const type of foreign.types) await client.delete(type, { name: "foreign" });
    await first[Symbol.asyncDispose]();
    await untilIdle(1);
    await using second = await leaseCluster({ socket });
    assert.equal(second.url, url);
    await assertNoForeignPolicies(second.client);
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
