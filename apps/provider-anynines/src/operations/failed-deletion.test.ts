import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { managedServiceBindings, serviceInstances } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, type ResourceType } from "@klutch/kube-core";
import { startVirtualProvider, type VirtualProvider } from "../testing/virtual-provider.ts";
import { binding, instance } from "../testing/world.ts";

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

async function synced(world: VirtualProvider, type: ResourceType, name: string): Promise<string> {
  const object = await world.user.get<DynamicObject>(type, { name });
  return findCondition(conditionsOf(object), "Synced")?.message ?? "";
}

async function ready(t: TestContext): Promise<VirtualProvider> {
  const world = await startVirtualProvider(t, 0);
  await world.user.create(serviceInstances, instance("one"));
  await world.clock.advance(5_000);
  return world;
}

test("an instance whose deletion is accepted and then fails is deleted ever more rarely, and goes when the broker can", async (t) => {
  const world = await ready(t);
  world.broker.state.deletions = "broken";
  await world.user.delete(serviceInstances, { name: "one" });
  await world.clock.advance(10 * minute);
  assertBackOff(waits(world, "deprovision"));
  assert.match(await synced(world, serviceInstances, "one"), /delete failed: the disk is locked/);
  world.broker.state.deletions = "good";
  await world.clock.advance(2 * minute);
  assert.equal(await world.user.find(serviceInstances, { name: "one" }), undefined);
});

test("a binding whose deletion is accepted and then fails is deleted ever more rarely, and goes when the broker can", async (t) => {
  const world = await ready(t);
  await world.user.create(managedServiceBindings, binding("bound", "one"));
  await world.clock.advance(5_000);
  world.broker.state.deletions = "broken";
  await world.user.delete(managedServiceBindings, { name: "bound" });
  await world.clock.advance(10 * minute);
  assertBackOff(waits(world, "unbind"));
  assert.match(await synced(world, managedServiceBindings, "bound"), /delete failed: the disk is locked/);
  world.broker.state.deletions = "good";
  await world.clock.advance(2 * minute);
  assert.equal(await world.user.find(managedServiceBindings, { name: "bound" }), undefined);
});

test("what a failed create left, and the broker cannot delete, is deleted ever more rarely", async (t) => {
  const world = await startVirtualProvider(t, 0);
  world.broker.state.provisions = "broken";
  world.broker.state.deletions = "broken";
  await world.user.create(serviceInstances, instance("one"));
  await world.clock.advance(10 * minute);
  assertBackOff(waits(world, "deprovision"));
});
