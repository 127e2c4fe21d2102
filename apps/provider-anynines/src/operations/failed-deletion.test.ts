import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { managedServiceBindings, serviceInstances } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, type ResourceType } from "@klutch/kube-core";
import { startVirtualProvider, type VirtualProvider } from "../testing/virtual-provider.ts";
import { binding, instance } from "../testing/fixture.ts";

const minute = 60_000;

/** Waits between the calls of a verb, in whole seconds. */
function waits({ broker }: VirtualProvider, operation: string): readonly number[] {
  const times = broker.calls.filter((call) => call.operation === operation).map(({ at }) => at);
  return times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 1_000));
}

/** Ever longer, up to a minute; between a call and its end lies a question after a second. */
function assertBackOff(found: readonly number[]): void {
  assert.deepEqual(found.slice(0, 8), [2, 3, 5, 9, 17, 33, 61, 61]);
}

async function synced(fixture: VirtualProvider, type: ResourceType, name: string): Promise<string> {
  const object = await fixture.user.get<DynamicObject>(type, { name });
  return findCondition(conditionsOf(object), "Synced")?.message ?? "";
}

async function ready(t: TestContext): Promise<VirtualProvider> {
  const fixture = await startVirtualProvider(t, 0);
  await fixture.user.create(serviceInstances, instance("one"));
  await fixture.clock.advance(5_000);
  return fixture;
}

test("an instance whose deletion is accepted and then fails is deleted ever more rarely, and goes when the broker can", async (t) => {
  const fixture = await ready(t);
  fixture.broker.state.deletions = "broken";
  await fixture.user.delete(serviceInstances, { name: "one" });
  await fixture.clock.advance(10 * minute);
  assertBackOff(waits(fixture, "deprovision"));
  assert.match(await synced(fixture, serviceInstances, "one"), /delete failed: the disk is locked/);
  fixture.broker.state.deletions = "good";
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.user.find(serviceInstances, { name: "one" }), undefined);
});

test("a binding whose deletion is accepted and then fails is deleted ever more rarely, and goes when the broker can", async (t) => {
  const fixture = await ready(t);
  await fixture.user.create(managedServiceBindings, binding("bound", "one"));
  await fixture.clock.advance(5_000);
  fixture.broker.state.deletions = "broken";
  await fixture.user.delete(managedServiceBindings, { name: "bound" });
  await fixture.clock.advance(10 * minute);
  assertBackOff(waits(fixture, "unbind"));
  assert.match(await synced(fixture, managedServiceBindings, "bound"), /delete failed: the disk is locked/);
  fixture.broker.state.deletions = "good";
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.user.find(managedServiceBindings, { name: "bound" }), undefined);
});

test("what a failed create left, and the broker cannot delete, is deleted ever more rarely", async (t) => {
  const fixture = await startVirtualProvider(t, 0);
  fixture.broker.state.provisions = "broken";
  fixture.broker.state.deletions = "broken";
  await fixture.user.create(serviceInstances, instance("one"));
  await fixture.clock.advance(10 * minute);
  assertBackOff(waits(fixture, "deprovision"));
});
