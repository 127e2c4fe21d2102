import assert from "node:assert/strict";
import { after, test } from "node:test";
import { claimKindAnnotation, managedServiceBindings, serviceInstances } from "@klutch/api";
import { type DynamicObject, events, recordAt, type ResourceType, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { brokerError, type Lie } from "./testing/front.ts";
import { binding, edit, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("reasons"));
const { client, front } = fixture;

const ready = { type: "Ready", status: "True" };

/** `reason: message` of the condition, once its message is as asked for. */
async function said(type: ResourceType, name: string, of: string, message: RegExp): Promise<string> {
  const found = await fixture.condition(type, name, { type: of, status: "False", message });
  return `${found.reason}: ${found.message}`;
}

async function remove(type: ResourceType, name: string): Promise<void> {
  await client.delete(type, { name });
  await fixture.gone(type, { name });
}

const answered = (body: object, status = 200): Lie => ({ status, body: JSON.stringify(body) });

test("what the broker or the provider refuses is Refused, and what no one serves or is not there yet has its own word", async () => {
  const stop = fixture.run();
  try {
    await client.create(serviceInstances, instance("bad", { parameters: { wal_level_logical: true } }));
    await client.create(serviceInstances, instance("worse", { planName: "postgresql-huge" }));
    const foreign = instance("foreign");
    const other = {
      ...foreign,
      spec: { ...recordAt(foreign.spec), providerConfigRef: { name: "mariadb-service-broker" } },
    };
    await client.create(serviceInstances, other);
    await client.create(managedServiceBindings, binding("early", "nobody"));
    assert.match(
      await said(serviceInstances, "bad", "Synced", /./),
      /^Refused: create failed: InvalidParameters: parameters\.wal_level_logical is not supported/,
    );
    assert.match(
      await said(serviceInstances, "worse", "Synced", /./),
      /^Refused: .*no entry for the plan name/,
    );
    assert.match(
      await said(serviceInstances, "foreign", "Synced", /./),
      /^NoBroker: connect failed: no broker here serves the type mariadb/,
    );
    assert.match(
      await said(managedServiceBindings, "early", "Synced", /./),
      /^WaitingForInstance: create failed: data service instance was not found/,
    );
    for (const name of ["bad", "worse", "foreign"]) await remove(serviceInstances, name);
    await remove(managedServiceBindings, "early");
  } finally {
    await stop();
  }
});

test("a change says from which plan to which while it goes on, and an unreachable broker and a pause are no refusal", async () => {
  const stop = fixture.run();
  try {
    await client.create(serviceInstances, instance("moving"));
    await fixture.condition(serviceInstances, "moving", ready);
    // Our broker changes a plan too fast to be seen at it.
    front.lie = ({ method, path }) => {
      if (method === "PATCH") return { ...answered({ operation: "slow" }, 202), forward: true };
      return path.endsWith("/last_operation")
        ? answered({ state: "in progress", description: "moving\u001b[2J data" })
        : undefined;
    };
    await edit(fixture, "moving", { planName: "postgresql-single-small" });
    assert.equal(
      await said(serviceInstances, "moving", "Ready", /moving/),
      "Changing: from postgresql-single-nano to postgresql-single-small: moving [2J data",
    );
    front.lie = ({ path }) =>
      path.endsWith("/last_operation") ? answered({ state: "succeeded" }) : undefined;
    await fixture.condition(serviceInstances, "moving", ready);
    front.lie = undefined;
    await fixture.broker.kill();
    assert.match(await said(serviceInstances, "moving", "Synced", /observe failed/), /^BrokerUnreachable: /);
    await fixture.condition(serviceInstances, "moving", ready);
    await fixture.broker.start();
    await fixture.condition(serviceInstances, "moving", { type: "Synced", status: "True" });
    const pause = (value: string | null): object => ({
      metadata: { annotations: { "crossplane.io/paused": value } },
    });
    await client.mergePatch(serviceInstances, { name: "moving" }, pause("true"));
    const paused = await fixture.condition(serviceInstances, "moving", { type: "Synced", status: "False" });
    assert.equal(paused.reason, "ReconcilePaused");
    await client.mergePatch(serviceInstances, { name: "moving" }, pause(null));
    await remove(serviceInstances, "moving");
  } finally {
    front.lie = undefined;
    await stop();
  }
});

test("an operation that fails is Failed, also in a broker's words that are too many for an annotation", async () => {
  const stop = fixture.run();
  const description = `no room\u0007\n${"x".repeat(2_000_000)}`;
  front.lie = ({ method, path }) => {
    if (method === "PUT") return { ...answered({ operation: "slow" }, 202), forward: true };
    return path.endsWith("/last_operation") ? answered({ state: "failed", description }) : undefined;
  };
  try {
    await client.create(serviceInstances, instance("failing"));
    const words = await said(serviceInstances, "failing", "Ready", /failed/);
    assert.match(words, /^Failed: create failed: no room x+…$/);
    assert.ok(words.length < 800);
    assert.equal(await said(serviceInstances, "failing", "Synced", /failed/), words);
    front.lie = undefined;
    await remove(serviceInstances, "failing");
  } finally {
    front.lie = undefined;
    await stop();
  }
});

test("an instance that is deleted before its bindings says on its claim which ones, and a broker that refuses too", async () => {
  const stop = fixture.run();
  const warning = async (reason: string): Promise<DynamicObject> =>
    waitFor(`the event ${reason}`, async () => {
      const { items } = await client.list<DynamicObject>(events, { namespace: "team" });
      return items.find((event) => event["reason"] === reason);
    });
  try {
    const held = instance("held");
    const annotations = { [claimKindAnnotation]: "anynines.com/v1/PostgresqlInstance" };
    await client.create(serviceInstances, { ...held, metadata: { ...held.metadata, annotations } });
    const typo = binding("typo", "heldd");
    const claimKind = { [claimKindAnnotation]: "anynines.com/v1/ServiceBinding" };
    const named = { ...typo, metadata: { ...typo.metadata, annotations: claimKind } };
    await client.create(managedServiceBindings, named);
    const missing = await warning("InstanceNotFound");
    assert.deepEqual(missing["related"], { kind: "Instance", name: "heldd" });
    assert.match(
      String(missing["message"]),
      /no instance heldd in .*; there is held\. If that is meant, delete/,
    );
    assert.equal(textAt(missing, "involvedObject", "name"), "typo");
    await remove(managedServiceBindings, "typo");
    await client.create(managedServiceBindings, binding("holder", "held"));
    await fixture.condition(managedServiceBindings, "holder", ready);
    await client.delete(serviceInstances, { name: "held" });
    const bound = await warning("StillBound");
    assert.deepEqual(bound["involvedObject"], {
      apiVersion: "anynines.com/v1",
      kind: "PostgresqlInstance",
      namespace: "team",
      name: "held",
    });
    assert.equal(bound["type"], "Warning");
    assert.equal(
      bound["message"],
      "delete failed: the instance is still bound by holder; delete these ServiceBindings first",
    );
    front.lie = ({ method, path }) =>
      method === "DELETE" && !path.includes("service_bindings")
        ? brokerError(422, "Locked", "a backup is running")
        : undefined;
    await remove(managedServiceBindings, "holder");
    assert.equal((await warning("Refused"))["message"], "delete failed: Locked: a backup is running");
    front.lie = undefined;
    await fixture.gone(serviceInstances, { name: "held" });
  } finally {
    front.lie = undefined;
    await stop();
  }
});
