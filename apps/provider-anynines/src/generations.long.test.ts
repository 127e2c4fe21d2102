import assert from "node:assert/strict";
import { after, test } from "node:test";
import { namespacedProviderConfigs } from "@klutch/api";
import { type DynamicObject, namespaces, recordAt, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { clusterScoped, namespaced } from "./scope.ts";
import { bothScopes, namespacedOf, refIn, team } from "./testing/kinds.ts";
import { binding, config, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("generations"));
const { client, front } = fixture;
const ready = { type: "Ready", status: "True" };
const notSynced = { type: "Synced", status: "False" };
const { instances, bindings } = namespaced;
const backend = { url: `http://127.0.0.1:${front.port}`, serviceType: "servicebroker" };
stack.defer(fixture.run());

/** With the ProviderConfig of its own namespace, or what `reference` says. */
function ofTeam(object: DynamicObject, reference: object): DynamicObject {
  const made = namespacedOf(object);
  return { ...made, spec: { ...recordAt(made.spec), providerConfigRef: reference } };
}

const secretOf = (namespace: string): DynamicObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace, name: "broker" },
  data: { username: Buffer.from("u").toString("base64"), password: Buffer.from("p").toString("base64") },
});

async function remove(name: string): Promise<void> {
  await client.delete(instances, refIn(instances, name));
  await fixture.gone(instances, refIn(instances, name));
}

test("claim and composite of one name in one namespace have an instance each, and each binding is made to its own", async () => {
  for (const { types, of } of bothScopes) await client.create(types.instances, of(instance("twin")));
  await client.create(clusterScoped.bindings, binding("twin-old", "twin"));
  await client.create(bindings, namespacedOf(binding("twin-new", "twin")));
  await fixture.condition(clusterScoped.bindings, "twin-old", ready);
  await fixture.condition(bindings, "twin-new", ready);
  const ids: unknown[] = [];
  for (const [types, name] of [
    [clusterScoped, "twin-old"],
    [namespaced, "twin-new"],
  ] as const) {
    const { instanceId } = await fixture.atProvider(types.instances, "twin");
    assert.equal((await fixture.atProvider(types.bindings, name))["instanceId"], instanceId);
    ids.push(instanceId);
  }
  assert.equal(new Set(ids).size, 2);
  assert.equal((await fixture.databases()).length, 2);
  const [old, fresh] = [await fixture.credentials("twin-old"), await fixture.credentials("twin-new")];
  assert.notEqual(old["name"], fresh["name"]);
});

test("who uses an instance is counted in its own generation: one can go while that of the same name is still bound", async () => {
  await client.delete(bindings, refIn(bindings, "twin-new"));
  await fixture.gone(bindings, refIn(bindings, "twin-new"));
  await fixture.gone(secrets, { namespace: team, name: "twin-new-creds" });
  await remove("twin");
  assert.equal((await fixture.databases()).length, 1);
  assert.deepEqual(
    await fixture.sql((await fixture.credentials("twin-old"))["uri"] ?? "", "select 1 as one"),
    [{ one: 1 }],
  );
  await client.delete(clusterScoped.bindings, { name: "twin-old" });
  await fixture.gone(clusterScoped.bindings, { name: "twin-old" });
  await client.delete(clusterScoped.instances, { name: "twin" });
  await fixture.gone(clusterScoped.instances, { name: "twin" });
});

test("the credentials of a namespaced binding are rotated in its own namespace", async () => {
  await client.create(instances, namespacedOf(instance("turn")));
  await client.create(bindings, namespacedOf(binding("turn-b", "turn")));
  await fixture.condition(bindings, "turn-b", ready);
  const before = await fixture.credentials("turn-b");
  const spec = { forProvider: { rotate: "1", rotateGraceSeconds: 0 } };
  await client.mergePatch(bindings, refIn(bindings, "turn-b"), { spec });
  await waitFor("new credentials", async () => {
    return (await fixture.credentials("turn-b"))["password"] !== before["password"];
  });
  const { uri = "" } = await fixture.credentials("turn-b");
  assert.deepEqual(await fixture.sql(uri, "select 1 as one"), [{ one: 1 }]);
  await client.delete(bindings, refIn(bindings, "turn-b"));
  await fixture.gone(bindings, refIn(bindings, "turn-b"));
  await remove("turn");
});

test("labels do not lead a namespaced binding to an instance of another namespace", async () => {
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "thief" } });
  await client.create(instances, namespacedOf(instance("victim")));
  await fixture.condition(instances, "victim", ready);
  const wanted = namespacedOf(binding("steal", "victim"));
  const labels = { ...wanted.metadata.labels, "crossplane.io/claim-namespace": team };
  await client.create(bindings, { ...wanted, metadata: { ...wanted.metadata, labels, namespace: "thief" } });
  await waitFor("it to be refused", async () => {
    const { status } = await client.get<DynamicObject>(bindings, { namespace: "thief", name: "steal" });
    return JSON.stringify(status ?? "").includes("no instance victim in the namespace of this binding");
  });
  assert.equal(await client.find(secrets, { namespace: "thief", name: "steal-creds" }), undefined);
  await client.delete(bindings, { namespace: "thief", name: "steal" });
  await fixture.gone(bindings, { namespace: "thief", name: "steal" });
  await remove("victim");
});

test("a ProviderConfig of the own namespace is used, with a Secret beside it", async () => {
  await client.create(namespacedProviderConfigs, config(namespacedProviderConfigs, "mine", backend));
  await client.create(instances, ofTeam(instance("own"), { kind: "ProviderConfig", name: "mine" }));
  await fixture.condition(instances, "own", ready);
  await remove("own");
  const { status } = await waitFor("its health", async () => {
    const found = await client.get<DynamicObject>(namespacedProviderConfigs, {
      namespace: team,
      name: "mine",
    });
    return recordAt(found.status, "health")["lastStatus"] === true ? found : undefined;
  });
  assert.equal(recordAt(status, "health")["lastMessage"], "Available");
});

test("a ProviderConfig of another namespace is out of reach, by kind, by name and by a slash in it", async () => {
  await client.create(secrets, secretOf("thief"));
  const theirs = config(namespacedProviderConfigs, "theirs", backend, "thief");
  await client.create(namespacedProviderConfigs, {
    ...theirs,
    metadata: { namespace: "thief", name: "theirs" },
  });
  const asked = front.asked.length;
  for (const [name, reference, message] of [
    ["a", { kind: "ProviderConfig", name: "theirs" }, /providerconfigs "theirs" not found in namespace team/],
    ["b", { kind: "ProviderConfig", name: "thief/theirs" }, /"thief\/theirs" not found in namespace team/],
    ["c", { kind: "ClusterProviderConfig", name: "theirs" }, /clusterproviderconfigs "theirs" not found/],
    ["d", { kind: "ClusterProviderConfig", name: "thief/theirs" }, /"thief\/theirs" not found/],
  ] as const) {
    await client.create(instances, ofTeam(instance(name), reference));
    await fixture.condition(instances, name, { ...notSynced, message });
    await remove(name);
  }
  const provisions = front.asked.slice(asked).filter(({ method }) => method === "PUT");
  assert.deepEqual(provisions, []);
});

test("a namespaced ProviderConfig that names a Secret elsewhere is refused with words, and its backend is not told anything", async () => {
  const type = namespacedProviderConfigs;
  await client.create(secrets, secretOf("default"));
  await client.create(type, config(type, "elsewhere", backend, "default"));
  const message =
    /username\.secretRef\.namespace is "default", but a ProviderConfig of the namespace team may name Secrets of team only; put the Secret there, or let an operator make a ClusterProviderConfig/;
  await client.create(instances, ofTeam(instance("sly"), { kind: "ProviderConfig", name: "elsewhere" }));
  await fixture.condition(instances, "sly", { ...notSynced, message });
  await remove("sly");
  await waitFor("it to be unhealthy", async () => {
    const found = await client.get<DynamicObject>(type, { namespace: team, name: "elsewhere" });
    return message.test(String(recordAt(found.status, "health")["lastMessage"]));
  });
  const withCa = config(type, "ca", {
    ...backend,
    tls: { caBundleSecretRef: { name: "broker", key: "password", namespace: "default" } },
  });
  await client.create(type, withCa);
  await client.create(instances, ofTeam(instance("sly-ca"), { kind: "ProviderConfig", name: "ca" }));
  const ofCa = /spec\.tls\.caBundleSecretRef\.namespace is "default"/;
  await fixture.condition(instances, "sly-ca", { ...notSynced, message: ofCa });
  await remove("sly-ca");
  assert.deepEqual(await fixture.databases(), []);
});
