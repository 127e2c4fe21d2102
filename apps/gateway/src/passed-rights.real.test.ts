/** Secrets and events pass through the gateway: with the rights of the app cluster that asks, and never with the gateway's own. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isForbidden, type KubeClient, type WatchEvent } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  type DynamicObject,
  events,
  recordAt,
  type ResourceType,
  roleBindings,
  roles,
  secrets,
  textAt,
} from "@klutch/kube-core";
import { objectOfType, roleBindingObject, roleObject, ruleOn, secretObject } from "@klutch/kube-testing";
import { clientOf, type RunningGateway, type Stage, startGateway, startStage } from "./testing/stage.ts";

let stage: Stage;
let gateway: RunningGateway;
let red: KubeClient;
const stack = new AsyncDisposableStack();
const verbs = ["get", "list", "watch", "create"];

before(async () => {
  stage = stack.use(await startStage());
  const { client } = stage.cluster;
  const config = await stage.tenant("red");
  await stage.tenant("blue");
  const own = { namespace: "red", name: "red" };
  const name = "claimed";
  await client.create(
    roles,
    roleObject({ namespace: "red", name }, [ruleOn(secrets, verbs), ruleOn(events, verbs)]),
  );
  const binding = roleBindingObject({ namespace: "red", name }, { kind: "Role", name }, own);
  await client.create(roleBindings, binding);
  // An operator who gave the gateway more than it needs: the rights of tenants stay as they are.
  const all = { name: "gateway-too-much" };
  await client.create(clusterRoles, roleObject(all, [ruleOn(secrets, ["*"]), ruleOn(events, ["*"])]));
  const much = roleBindingObject(
    all,
    { kind: "ClusterRole", ...all },
    { namespace: "gateway", name: "gateway" },
  );
  await client.create(clusterRoleBindings, much);
  for (const namespace of ["red", "blue"])
    await client.create(secrets, secretObject(namespace, `of-${namespace}`, { password: "x" }));
  gateway = stack.use(await startGateway(stage));
  red = stack.use(clientOf(config, gateway));
});
after(() => stack.disposeAsync());

const passed = (): Promise<number> => gateway.read('klutch_gateway_passed_requests_total{reason="path"}');

/** Returns the name of the first object of a watch. */
async function firstName(watch: AsyncIterable<WatchEvent<DynamicObject>>): Promise<string | undefined> {
  for await (const event of watch) if (event.type === "ADDED") return event.object.metadata.name;
  return undefined;
}

test("Secrets and events of its own namespace reach an app cluster, by list and by watch, and are not the gateway's to keep", async () => {
  const before = await passed();
  const { items, resourceVersion } = await red.list<DynamicObject>(secrets, {
    namespace: "red",
    resourceVersion: "0",
  });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["of-red"],
  );
  const seen = firstName(red.watch<DynamicObject>(secrets, { namespace: "red", resourceVersion }));
  await stage.cluster.client.create(secrets, secretObject("red", "later", { password: "y" }));
  assert.equal(await seen, "later");
  const involvedObject = { kind: "Widget", namespace: "red", name: "w" };
  await red.create(events, {
    ...objectOfType(events, { namespace: "red", name: "e" }),
    involvedObject,
    reason: "Seen",
    type: "Normal",
  });
  assert.equal((await red.list(events, { namespace: "red", resourceVersion: "0" })).items.length, 1);
  assert.equal(await passed(), before + 3);
  assert.equal(await gateway.read("klutch_gateway_lists_total"), 0);
});

test("another app cluster's Secrets and events are forbidden, although the gateway's account may read them all", async () => {
  const forbidden = async (type: ResourceType, namespace?: string): Promise<void> => {
    await assert.rejects(red.list(type, { namespace, resourceVersion: "0" }), isForbidden);
    const watch = red.watch(type, { namespace, resourceVersion: "1" });
    await assert.rejects(watch[Symbol.asyncIterator]().next(), isForbidden);
  };
  for (const type of [secrets, events]) {
    await forbidden(type, "blue");
    await forbidden(type);
  }
  await assert.rejects(red.get(secrets, { namespace: "blue", name: "of-blue" }), isForbidden);
});

test("the API server sees the app cluster's account behind a passed request", async () => {
  const review = await red.request({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
  });
  const user = recordAt(review, "status", "userInfo");
  assert.equal(textAt(user, "username"), "system:serviceaccount:red:red");
});
