import assert from "node:assert/strict";
import { after, test } from "node:test";
import { managedServiceBindings, serviceInstances } from "@klutch/api";
import type { ResourceType } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { brokerError, type Lie } from "./testing/front.ts";
import { binding, edit, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("orphans"));
const { client, front } = fixture;
const ready = { type: "Ready", status: "True" };
let stop = fixture.run();
stack.defer(() => stop());

const page: Lie = { status: 201, type: "text/html", body: "<html>" };
/** An answer in the place of that of the broker, which did what it was asked for; and whether what it did must be undone. */
const answers: readonly (readonly [string, Lie, boolean])[] = [
  ["200 that is no JSON", { ...page, status: 200 }, false],
  ["201 that is no JSON", page, true],
  ["202 that is no JSON", { ...page, status: 202 }, true],
  ["203", { status: 203, body: "{}" }, true],
  ["408", brokerError(408, "", "too slow"), false],
  ["500", brokerError(500, "Oops", "out of order"), true],
  ["504 of a proxy", { ...page, status: 504 }, true],
  ["the end of the connection", { ...page, comes: "end" }, true],
];

/** The way of the writes under a path, by their methods, and how many paths they had. */
function writes(under: (path: string) => boolean): { readonly methods: string; readonly paths: number } {
  const found = front.asked.filter(({ method, path }) => method !== "GET" && under(path));
  const paths = new Set(found.map(({ path }) => path));
  return { methods: found.map(({ method }) => method).join(" "), paths: paths.size };
}

/** The provider knows that what a failed create left is gone. */
async function isDiscarded(type: ResourceType, name: string): Promise<void> {
  await waitFor(`what ${name} left to be gone`, async () => {
    const { annotations = {} } = (await client.get(type, { name })).metadata;
    return annotations["anynines.crossplane.io/broker-operation"]?.includes('"discarded":true') === true;
  });
}

async function remove(name: string): Promise<void> {
  await client.delete(serviceInstances, { name });
  await fixture.gone(serviceInstances, { name });
}

for (const [index, [what, lie, undo]] of answers.entries()) {
  test(`a provision answered with ${what} is ${undo ? "undone and created again" : "repeated"}, and one instance is left`, async () => {
    front.asked.length = 0;
    let lies = 1;
    front.lie = ({ method }) => (method === "PUT" && lies-- > 0 ? { ...lie, forward: true } : undefined);
    await client.create(serviceInstances, instance(`row-${index}`));
    await fixture.condition(serviceInstances, `row-${index}`, ready, 40_000);
    const seen = writes((path) => path.startsWith("/v2/service_instances/"));
    // A repeated call may meet the first one, which still runs.
    if (undo) assert.deepEqual(seen, { methods: "PUT DELETE PUT", paths: 2 });
    else assert.match(seen.methods, /^PUT PUT( PUT)*$/);
    if (!undo) assert.equal(seen.paths, 1);
    assert.equal((await fixture.databases()).length, 1);
    await remove(`row-${index}`);
    assert.deepEqual(await fixture.databases(), []);
  });
}

test("a bind without a good answer is undone and created again, or repeated, and what it left at the broker is never forgotten", async () => {
  await client.create(serviceInstances, instance("bound"));
  await fixture.condition(serviceInstances, "bound", ready);
  const { instanceId } = await fixture.atProvider(serviceInstances, "bound");
  for (const [index, [what, lie, undo]] of answers.entries()) {
    const name = `bind-${index}`;
    front.asked.length = 0;
    let lies = 1;
    front.lie = ({ method }) => (method === "PUT" && lies-- > 0 ? { ...lie, forward: true } : undefined);
    await client.create(managedServiceBindings, binding(name, "bound"));
    await fixture.condition(managedServiceBindings, name, ready, 40_000);
    const ofInstance = `/v2/service_instances/${String(instanceId)}/service_bindings/`;
    const seen = writes((path) => path.startsWith(ofInstance));
    assert.deepEqual(seen, { methods: undo ? "PUT DELETE PUT" : "PUT PUT", paths: 1 }, what);
    await client.delete(managedServiceBindings, { name });
    await fixture.gone(managedServiceBindings, { name });
  }
  front.lie = undefined;
});

test("a binding that is deleted while the answer to its bind is lost is unbound at its instance", async () => {
  const { instanceId } = await fixture.atProvider(serviceInstances, "bound");
  front.asked.length = 0;
  front.lie = ({ method }) =>
    method === "PUT" ? { ...brokerError(408, "", "too slow"), forward: true } : undefined;
  await client.create(managedServiceBindings, binding("lost", "bound"));
  await fixture.condition(managedServiceBindings, "lost", { type: "Synced", status: "False" });
  await client.delete(managedServiceBindings, { name: "lost" });
  await fixture.gone(managedServiceBindings, { name: "lost" });
  front.lie = undefined;
  const deletes = front.asked.filter(({ method }) => method === "DELETE").map(({ path }) => path);
  assert.equal(deletes.length, 1);
  assert.ok(deletes[0]?.startsWith(`/v2/service_instances/${String(instanceId)}/service_bindings/`));
  await remove("bound");
});

test("what a failed bind left is unbound at once, the failure stays in sight, and only another spec tries again", async () => {
  await client.create(serviceInstances, instance("bound"));
  await fixture.condition(serviceInstances, "bound", ready);
  const isBinding = (path: string): boolean => path.includes("/service_bindings/");
  front.asked.length = 0;
  front.lie = ({ method, path, query }) => {
    if (method === "PUT") return { status: 202, body: '{"operation":"slow"}', forward: true };
    const asks = isBinding(path) && path.endsWith("/last_operation") && query.includes("slow");
    return asks ? { status: 200, body: '{"state":"failed","description":"no more logins"}' } : undefined;
  };
  await client.create(managedServiceBindings, binding("failed-b", "bound"));
  const failed = { type: "Ready", status: "False", message: /^create failed: no more logins$/ };
  await fixture.condition(managedServiceBindings, "failed-b", failed);
  await isDiscarded(managedServiceBindings, "failed-b");
  await fixture.condition(managedServiceBindings, "failed-b", failed);
  assert.deepEqual(writes(isBinding), { methods: "PUT DELETE", paths: 1 });
  front.lie = undefined;
  await client.mergePatch(
    managedServiceBindings,
    { name: "failed-b" },
    { spec: { forProvider: { context: { again: "yes" } } } },
  );
  await fixture.condition(managedServiceBindings, "failed-b", ready);
  assert.deepEqual(writes(isBinding), { methods: "PUT DELETE PUT", paths: 1 });
  await client.delete(managedServiceBindings, { name: "failed-b" });
  await fixture.gone(managedServiceBindings, { name: "failed-b" });
  await remove("bound");
});

test("a refusal leaves nothing to undo", async () => {
  front.asked.length = 0;
  front.lie = ({ method }) => (method === "PUT" ? brokerError(422, "Full", "no more room") : undefined);
  await client.create(serviceInstances, instance("refused"));
  await fixture.condition(serviceInstances, "refused", {
    type: "Synced",
    status: "False",
    message: /no more room/,
  });
  await waitFor("two attempts", () => front.asked.filter(({ method }) => method === "PUT").length >= 2);
  assert.ok(!front.asked.some(({ method }) => method === "DELETE"));
  front.lie = undefined;
  await remove("refused");
});

test("what a failed provision left is deleted at once, the failure stays in sight, and only another spec tries again", async () => {
  front.asked.length = 0;
  await client.create(serviceInstances, instance("failed", { parameters: { work_mem: "banana" } }));
  const failed = { type: "Ready", status: "False", message: /^create failed: / };
  await fixture.condition(serviceInstances, "failed", failed);
  await isDiscarded(serviceInstances, "failed");
  await waitFor("no instance at the broker", async () => (await fixture.databases()).length === 0);
  await fixture.condition(serviceInstances, "failed", failed);
  assert.equal(writes(() => true).methods, "PUT DELETE");
  await edit(fixture, "failed", { parameters: { work_mem: "8MB" } });
  await fixture.condition(serviceInstances, "failed", ready);
  assert.deepEqual(
    writes(() => true),
    { methods: "PUT DELETE PUT", paths: 2 },
  );
  await remove("failed");
});

test("an operation that takes longer than its plan allows counts as failed, and what it made is deleted", async () => {
  await stop();
  const headers = { authorization: `Basic ${btoa("u:p")}`, "x-broker-api-version": "2.17" };
  const catalog = await (
    await fetch(`http://127.0.0.1:${fixture.broker.port}/v2/catalog`, { headers })
  ).text();
  const hurried = catalog.replaceAll(/"maximum_polling_duration":\d+/g, '"maximum_polling_duration":1');
  assert.notEqual(hurried, catalog);
  front.asked.length = 0;
  front.lie = ({ path, query }) => {
    if (path === "/v2/catalog") return { status: 200, body: hurried };
    const isSlow = path.endsWith("/last_operation") && !query.includes("deprovision");
    return isSlow ? { status: 200, body: JSON.stringify({ state: "in progress" }) } : undefined;
  };
  // With an empty memory of the catalog.
  stop = fixture.run();
  await client.create(serviceInstances, instance("slow"));
  const message = /^create failed: the broker did not finish within 1 s$/;
  await fixture.condition(serviceInstances, "slow", { type: "Ready", status: "False", message });
  await waitFor("no instance at the broker", async () => (await fixture.databases()).length === 0);
  assert.equal(writes(() => true).methods, "PUT DELETE");
  front.lie = undefined;
  await remove("slow");
});
