import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { managedServiceBindings, providerConfigs, serviceInstances } from "@klutch/api";
import { secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { brokerError, type Lie } from "./testing/front.ts";
import { binding, configName, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("losses"));
const { client, front } = fixture;
const ready = { type: "Ready", status: "True" };
const notReady = { type: "Ready", status: "False" };
const stop = fixture.run({ confirmLossMs: 1_500 });
stack.defer(stop);
beforeEach(() => {
  front.lie = undefined;
  front.asked.length = 0;
});

const anew = "klutch.anynines.com/provision-anew";
const proxyPage: Lie = { status: 404, type: "text/html", body: "<html>no such site</html>" };
const unknown = brokerError(404, "InstanceNotFound", "no such instance");

/** The paths of instances themselves are answered with the lie, longer paths are not. */
function forget(ids: readonly unknown[], lie: Lie): void {
  front.lie = ({ method, path }) =>
    method === "GET" && ids.some((id) => path === `/v2/service_instances/${String(id)}`) ? lie : undefined;
}

const provisions = (): number =>
  front.asked.filter(({ method, path }) => method === "PUT" && !path.includes("/service_bindings/")).length;

async function create(name: string): Promise<unknown> {
  await client.create(serviceInstances, instance(name));
  await fixture.condition(serviceInstances, name, ready);
  return (await fixture.atProvider(serviceInstances, name))["instanceId"];
}

async function remove(name: string): Promise<void> {
  await client.delete(serviceInstances, { name });
  await fixture.gone(serviceInstances, { name });
}

async function annotate(name: string, annotations: object): Promise<void> {
  await client.mergePatch(serviceInstances, { name }, { metadata: { annotations } });
}

test("a proxy's page with 404 is an error, not a loss, also for a deletion", async () => {
  const id = await create("page");
  front.asked.length = 0;
  forget([id], proxyPage);
  await fixture.condition(serviceInstances, "page", {
    type: "Synced",
    status: "False",
    message: /HTTP 404.*not in the broker's own words/,
  });
  await waitFor("three reads", () => front.asked.filter(({ path }) => path.endsWith(String(id))).length >= 3);
  assert.equal(provisions(), 0);
  front.lie = ({ method }) => (method === "DELETE" ? proxyPage : undefined);
  await client.delete(serviceInstances, { name: "page" });
  await fixture.condition(serviceInstances, "page", {
    type: "Synced",
    status: "False",
    message: /delete failed: .*HTTP 404/,
  });
  front.lie = undefined;
  await fixture.gone(serviceInstances, { name: "page" });
  assert.deepEqual(await fixture.databases(), []);
});

test("an instance that the broker calls gone once and then knows again is as before", async () => {
  const id = await create("blink");
  front.asked.length = 0;
  forget([id], unknown);
  await fixture.condition(serviceInstances, "blink", { ...notReady, message: /does not know the instance/ });
  front.lie = undefined;
  await fixture.condition(serviceInstances, "blink", ready);
  assert.equal(provisions(), 0);
  assert.equal((await fixture.atProvider(serviceInstances, "blink"))["instanceId"], id);
  await remove("blink");
});

test("a lost instance is held until a person names it, and then a new one is made under a new id", async () => {
  const id = await create("gone");
  front.asked.length = 0;
  forget([id], unknown);
  const { message } = await fixture.condition(serviceInstances, "gone", { ...notReady, message: /is lost/ });
  assert.match(
    message,
    new RegExp(`kubectl annotate serviceinstances.dataservices.anynines.com gone ${anew}=${String(id)}`),
  );
  await annotate("gone", { [anew]: "another-id" });
  await waitFor("more reads", () => front.asked.filter(({ path }) => path.endsWith(String(id))).length >= 8);
  assert.equal(provisions(), 0);
  await annotate("gone", { [anew]: String(id) });
  await fixture.condition(serviceInstances, "gone", ready);
  const after = (await fixture.atProvider(serviceInstances, "gone"))["instanceId"];
  assert.notEqual(after, id);
  assert.equal(provisions(), 1);
  const { annotations = {} } = (await client.get(serviceInstances, { name: "gone" })).metadata;
  assert.equal(annotations[anew], undefined);
  await remove("gone");
});

test("when most instances of a broker vanish at once, no single permission is enough", async () => {
  const names = ["many-a", "many-b", "many-c"];
  const ids = await Promise.all(names.map(create));
  front.asked.length = 0;
  forget(ids, unknown);
  await fixture.condition(serviceInstances, "many-b", { ...notReady, message: /3 of \d+ instances/ });
  await annotate("many-a", { [anew]: String(ids[0]) });
  const { message } = await fixture.condition(serviceInstances, "many-a", {
    ...notReady,
    message: /3 of \d+ instances.*klutch.anynines.com\/accept-loss/,
  });
  assert.match(message, new RegExp(`providerconfigs.dataservices.anynines.com ${configName}`));
  const reads = front.asked.length;
  await waitFor("more reads", () => front.asked.length > reads + 6);
  assert.equal(provisions(), 0);
  const accept = (value: string | null): Promise<unknown> =>
    client.mergePatch(
      providerConfigs,
      { name: configName },
      {
        metadata: { annotations: { "klutch.anynines.com/accept-loss": value } },
      },
    );
  await accept("true");
  await fixture.condition(serviceInstances, "many-a", ready, 40_000);
  assert.equal(provisions(), 1);
  await accept(null);
  front.lie = undefined;
  for (const name of names) await remove(name);
});

test("a binding that the broker lost is noticed, its Secret goes, and it is created again", async () => {
  const id = await create("bound");
  await client.create(managedServiceBindings, binding("bound-b", "bound"));
  await fixture.condition(managedServiceBindings, "bound-b", ready);
  const before = await fixture.credentials("bound-b");
  const { uid = "" } = (await client.get(managedServiceBindings, { name: "bound-b" })).metadata;
  const path = `/v2/service_instances/${String(id)}/service_bindings/${uid}`;
  let refuses = true;
  front.lie = (asked) => {
    if (asked.path !== path) return undefined;
    if (asked.method === "GET") return brokerError(404, "BindingNotFound", "no such binding");
    return asked.method === "PUT" && refuses ? brokerError(422, "Full", "no more sessions") : undefined;
  };
  await fixture.condition(managedServiceBindings, "bound-b", {
    ...notReady,
    message: /does not know the binding/,
  });
  await fixture.condition(managedServiceBindings, "bound-b", {
    type: "Synced",
    status: "False",
    message: /create failed: Full: no more sessions/,
  });
  await fixture.gone(secrets, { namespace: "team", name: "bound-b-creds" });
  refuses = false;
  await waitFor("the binding to be made", () =>
    front.asked.some(({ method, path: asked }) => method === "PUT" && asked === path),
  );
  front.lie = (asked) => (asked.path === path && asked.method === "PUT" && refuses ? unknown : undefined);
  await fixture.condition(managedServiceBindings, "bound-b", ready, 40_000);
  const after = await fixture.credentials("bound-b");
  assert.deepEqual(Object.keys(after), Object.keys(before));
  assert.deepEqual(await fixture.sql(after["uri"] ?? "", "select 1 as one"), [{ one: 1 }]);
  await client.delete(managedServiceBindings, { name: "bound-b" });
  await fixture.gone(managedServiceBindings, { name: "bound-b" });
  await remove("bound");
});

test("while its instance is held as lost, a binding says so and keeps its Secret", async () => {
  const id = await create("both");
  await client.create(managedServiceBindings, binding("both-b", "both"));
  await fixture.condition(managedServiceBindings, "both-b", ready);
  front.lie = ({ method, path }) =>
    method === "GET" && path.startsWith(`/v2/service_instances/${String(id)}`) ? unknown : undefined;
  await fixture.condition(managedServiceBindings, "both-b", {
    ...notReady,
    message: /instance both is lost/,
  });
  await fixture.credentials("both-b");
  front.lie = undefined;
  await fixture.condition(managedServiceBindings, "both-b", ready);
  await client.delete(managedServiceBindings, { name: "both-b" });
  await fixture.gone(managedServiceBindings, { name: "both-b" });
  await remove("both");
});
