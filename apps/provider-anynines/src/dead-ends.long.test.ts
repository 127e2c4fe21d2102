import assert from "node:assert/strict";
import { after, test } from "node:test";
import { managedServiceBindings, serviceInstances } from "@klutch/api";
import { type DynamicObject, events, isRecord } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { brokerError } from "./testing/front.ts";
import { binding, edit, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("dead-ends"));
const { client, front } = fixture;
const synced = { type: "Synced", status: "False" };
const ready = { type: "Ready", status: "True" };
const stop = fixture.run();
stack.defer(stop);

async function remove(name: string): Promise<void> {
  await client.delete(serviceInstances, { name });
  await fixture.gone(serviceInstances, { name });
}

/** Writes to instances, by HTTP method and the instance's id. */
const writes = (): readonly string[] =>
  front.asked
    .filter(({ method, path }) => method !== "GET" && path.startsWith("/v2/service_instances/"))
    .map(({ method, path }) => `${method} ${path.split("/")[3] ?? ""}`);

test("a binding whose service type no one serves says so, blocks no instance, and can be deleted", async () => {
  await client.create(serviceInstances, instance("blocked"));
  await fixture.condition(serviceInstances, "blocked", ready);
  await client.create(managedServiceBindings, binding("orphan", "blocked", "mariadb"));
  await fixture.condition(managedServiceBindings, "orphan", {
    ...synced,
    message: /serviceInstanceType is mariadb, but the instance blocked is of type postgresql/,
  });
  await client.create(managedServiceBindings, binding("nowhere", "nothing", "search"));
  await fixture.condition(managedServiceBindings, "nowhere", {
    ...synced,
    message: /no broker here serves the type search: providerconfigs "search-service-broker" not found/,
  });
  await remove("blocked");
  for (const name of ["orphan", "nowhere"]) {
    await client.delete(managedServiceBindings, { name });
    await fixture.gone(managedServiceBindings, { name });
  }
  assert.deepEqual(await fixture.databases(), []);
});

test("a binding shows where a service is that no one compiled in; what its instance says wrong is told, and taken for no secret", async () => {
  const places = async (name: string): Promise<unknown> =>
    (await fixture.atProvider(managedServiceBindings, name))["connectionDetails"];
  const claim = (name: string): DynamicObject => {
    const made = binding(name, "own");
    const labels = { ...made.metadata.labels, "klutch.io/instance-type": "example" };
    return { ...made, metadata: { ...made.metadata, labels } };
  };
  const said = (text: string): object => ({
    metadata: { annotations: { "klutch.anynines.com/connection": text } },
  });
  const own = instance("own");
  await client.create(serviceInstances, own);
  await client.mergePatch(
    serviceInstances,
    { name: "own" },
    said('[{"label":"Own","from":"uri","form":"address"}]'),
  );
  await fixture.condition(serviceInstances, "own", ready);
  await client.create(managedServiceBindings, claim("understood"));
  await fixture.condition(managedServiceBindings, "understood", ready);
  assert.deepEqual(await places("understood"), [
    { label: "Own", hostURL: "postgres://127.0.0.1", port: String(fixture.broker.postgres.port) },
  ]);
  await client.mergePatch(
    serviceInstances,
    { name: "own" },
    said('[{"label":"Own","from":"password","form":"address"}]'),
  );
  await client.create(managedServiceBindings, claim("lied-to"));
  await fixture.condition(managedServiceBindings, "lied-to", ready);
  assert.deepEqual(await places("lied-to"), []);
  const told = await waitFor("the warning", async () => {
    const { items } = await client.list<DynamicObject>(events);
    return items.find((event) => event["reason"] === "ConnectionNotUnderstood");
  });
  assert.match(
    String(told["message"]),
    /ServiceInstance own is not understood.*connection\[0\]\.from: is "password", expected a key that holds no secret/,
  );
  for (const name of ["understood", "lied-to"]) {
    await client.delete(managedServiceBindings, { name });
    await fixture.gone(managedServiceBindings, { name });
  }
  await remove("own");
});

for (const [config, message] of [
  ["missing", /cannot get ProviderConfig: providerconfigs "missing" not found/],
  ["mariadb-service-broker", /no broker here serves the type mariadb: .*"mariadb-service-broker" not found/],
] as const) {
  test(`an instance whose ProviderConfig ${config} never existed says so and can be deleted`, async () => {
    const homeless = instance("homeless");
    const spec = isRecord(homeless["spec"]) ? homeless["spec"] : {};
    await client.create(serviceInstances, {
      ...homeless,
      spec: { ...spec, providerConfigRef: { name: config } },
    });
    await fixture.condition(serviceInstances, "homeless", { ...synced, message });
    await remove("homeless");
  });
}

test("a failed provision is repaired by a corrected spec: what it left is removed, and a new one is made once", async () => {
  front.asked.length = 0;
  await client.create(serviceInstances, instance("mend", { parameters: { work_mem: "banana" } }));
  await fixture.condition(serviceInstances, "mend", {
    type: "Ready",
    status: "False",
    message: /create failed:/,
  });
  await edit(fixture, "mend", { parameters: { work_mem: "8MB" } });
  await fixture.condition(serviceInstances, "mend", ready);
  const { instanceId } = await fixture.atProvider(serviceInstances, "mend");
  const [first = "", ...rest] = writes();
  const old = first.replace("PUT ", "");
  assert.notEqual(instanceId, old);
  assert.deepEqual(rest, [`DELETE ${old}`, `PUT ${String(instanceId)}`]);
  assert.equal((await fixture.databases()).length, 1);
  await remove("mend");
  assert.deepEqual(await fixture.databases(), []);
});

test("a provision whose answer was lost before the spec changed leaves no second instance", async () => {
  front.lie = ({ method }) =>
    method === "PUT" ? { ...brokerError(504, "", "gateway timeout"), forward: true } : undefined;
  await client.create(serviceInstances, instance("lost-answer", { parameters: { work_mem: "4MB" } }));
  await fixture.condition(serviceInstances, "lost-answer", { ...synced, message: /gateway timeout/ });
  await edit(fixture, "lost-answer", { parameters: { work_mem: "8MB" } });
  front.lie = undefined;
  await fixture.condition(serviceInstances, "lost-answer", ready, 40_000);
  assert.equal((await fixture.databases()).length, 1);
  await remove("lost-answer");
  assert.deepEqual(await fixture.databases(), []);
});

test("a repair that is cut off at any call goes on where it was, without a duplicate", async () => {
  await client.create(serviceInstances, instance("cut", { parameters: { work_mem: "banana" } }));
  await fixture.condition(serviceInstances, "cut", {
    type: "Ready",
    status: "False",
    message: /create failed:/,
  });
  const cut = new Set(["DELETE", "PUT"]);
  front.lie = ({ method }) =>
    cut.delete(method) ? { ...brokerError(504, "", "gateway timeout"), forward: true } : undefined;
  await edit(fixture, "cut", { parameters: { work_mem: "8MB" } });
  await fixture.condition(serviceInstances, "cut", ready, 40_000);
  assert.equal(cut.size, 0);
  assert.equal((await fixture.databases()).length, 1);
  front.lie = undefined;
  await remove("cut");
  assert.deepEqual(await fixture.databases(), []);
});

test("a parameter that is removed from the spec is taken back at the broker, and its defaults are left alone", async () => {
  await client.create(
    serviceInstances,
    instance("less", { parameters: { work_mem: "8MB", statement_timeout: 5000 } }),
  );
  await fixture.condition(serviceInstances, "less", ready);
  front.asked.length = 0;
  await edit(fixture, "less", { parameters: { work_mem: null } });
  await waitFor("the parameter to be gone", async () => {
    const { parameters } = await fixture.atProvider(serviceInstances, "less");
    return isRecord(parameters) && !("work_mem" in parameters) && parameters["statement_timeout"] === 5000;
  });
  const bodies = front.asked.filter(({ method }) => method === "PATCH").map(({ body }) => body);
  assert.equal(bodies.length, 1);
  assert.match(bodies[0] ?? "", /"parameters":\{"work_mem":null\}/);
  await edit(fixture, "less", { parameters: null });
  await waitFor("no parameter to be left", async () => {
    const { parameters } = await fixture.atProvider(serviceInstances, "less");
    return isRecord(parameters) && Object.keys(parameters).length === 0;
  });
  await remove("less");
});
