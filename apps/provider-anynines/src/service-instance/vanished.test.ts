import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServiceInstance, serviceInstances } from "@klutch/api";
import { wantedOf } from "../testing/catalog.ts";
import { instance } from "../testing/fixture.ts";
import { startVirtualProvider, type VirtualProvider } from "../testing/virtual-provider.ts";
import { vanishedInstance } from "./vanished.ts";

const minute = 60_000;

/** The value of the gauge. */
async function left({ metrics }: VirtualProvider): Promise<string | undefined> {
  return /^klutch_vanished_instances (\d+)$/m.exec(await metrics.text())?.[1];
}

async function ready(fixture: VirtualProvider, name: string): Promise<string> {
  await fixture.user.create(serviceInstances, instance(name));
  await fixture.clock.advance(5 * minute);
  const { status } = await fixture.user.get<ServiceInstance>(serviceInstances, { name });
  assert.equal(status?.atProvider?.state, "provisioned");
  return status.atProvider.instanceId ?? "";
}

/** The managed resource goes although the provider has a finalizer on it. */
async function vanish({ user, clock }: VirtualProvider, name: string): Promise<void> {
  await user.mergePatch(serviceInstances, { name }, { metadata: { finalizers: null } });
  await user.delete(serviceInstances, { name });
  await clock.advance(1_000);
}

test("an instance whose managed resource vanished is named once, counted, and never deleted, until it is gone", async (t) => {
  const fixture = await startVirtualProvider(t, 0);
  const id = await ready(fixture, "lost");
  await vanish(fixture, "lost");
  await fixture.clock.advance(60 * minute);
  assert.equal(await left(fixture), "1");
  const said = fixture.log.filter((line) => line.includes("left at its broker"));
  assert.equal(said.length, 1, said.join());
  assert.ok(said[0]?.includes(id) === true && said[0].includes('"name":"lost"'), said.join());
  assert.deepEqual(fixture.left, [`lost: ${id}`]);
  assert.ok(!fixture.broker.calls.some(({ operation }) => operation === "deprovision"));
  fixture.broker.forget(id);
  await fixture.clock.advance(20 * minute);
  assert.equal(await left(fixture), "0");
});

test("one that is deleted as it should is not counted, nor one that somebody manages again", async (t) => {
  const fixture = await startVirtualProvider(t, 0);
  await ready(fixture, "proper");
  await fixture.user.delete(serviceInstances, { name: "proper" });
  await fixture.clock.advance(5 * minute);
  assert.equal(fixture.broker.calls.filter(({ operation }) => operation === "deprovision").length, 1);
  const id = await ready(fixture, "again");
  await vanish(fixture, "again");
  await fixture.clock.advance(minute);
  assert.equal(await left(fixture), "1");
  const object = instance("imported");
  const annotations = { "anynines.crossplane.io/instance-id": id };
  await fixture.user.create(serviceInstances, { ...object, metadata: { ...object.metadata, annotations } });
  await fixture.clock.advance(20 * minute);
  assert.equal(await left(fixture), "0");
});

test("what was never asked for, or is to stay, leaves nothing to look for", () => {
  const metadata = { name: "one", uid: "u" };
  const object: ServiceInstance = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata,
    spec: { forProvider: wantedOf(), providerConfigRef: { name: "c" } },
  };
  const operation = JSON.stringify({
    type: "create",
    phase: "calling",
    startedAt: 1,
    serviceId: "a",
    planId: "b",
  });
  const annotations = { "anynines.crossplane.io/broker-operation": operation };
  assert.equal(vanishedInstance(object), undefined);
  const asked = { ...object, metadata: { ...metadata, annotations } };
  assert.deepEqual(vanishedInstance(asked), {
    config: "c",
    instanceId: "u",
    managed: asked,
    plan: { serviceId: "a", planId: "b" },
  });
  assert.equal(vanishedInstance({ ...asked, spec: { ...asked.spec, deletionPolicy: "Orphan" } }), undefined);
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  assert.equal(vanishedInstance({ ...asked, metadata: { ...asked.metadata, deletionTimestamp } }), undefined);
});
