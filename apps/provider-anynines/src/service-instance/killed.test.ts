/** A provider that is killed while it makes or deletes an instance. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { type ServiceInstance, serviceInstances } from "@klutch/api";
import {
  startVirtualProvider,
  type VirtualCrash,
  type VirtualProvider,
} from "../testing/virtual-provider.ts";
import { instance } from "../testing/world.ts";

const minute = 60_000;
const ref = { name: "one" };

/** How the broker makes instances. */
type Provisions = VirtualProvider["broker"]["state"]["provisions"];

async function make(t: TestContext, provisions: Provisions, crash?: VirtualCrash): Promise<VirtualProvider> {
  const world = await startVirtualProvider(t, 5_000, crash);
  world.broker.state.provisions = provisions;
  await world.user.create(serviceInstances, instance("one"));
  await world.clock.advance(10 * minute);
  return world;
}

async function end({ user, clock }: VirtualProvider): Promise<void> {
  if ((await user.find(serviceInstances, ref)) !== undefined) await user.delete(serviceInstances, ref);
  await clock.advance(10 * minute);
}

for (const [how, provisions] of [
  ["at once", "at once"],
  ["in a while", "good"],
] as const) {
  test(`whenever it is killed, a broker that makes instances ${how} has one, and none after its deletion`, async (t) => {
    const world = await make(t, provisions);
    const making = world.effects.count;
    await end(world);
    for (const [index, what] of world.effects.log.entries()) {
      const where = `crash at effect ${index + 1}, ${what}`;
      const killed = await make(t, provisions, { after: index + 1, meanwhile: () => Promise.resolve() });
      const { status } = await killed.user.get<ServiceInstance>(serviceInstances, ref);
      assert.equal(status?.atProvider?.state, "provisioned", where);
      assert.deepEqual(killed.broker.instances(), [status.atProvider.instanceId], where);
      await end(killed);
      assert.equal(await killed.user.find(serviceInstances, ref), undefined, where);
      assert.deepEqual(killed.broker.instances(), [], where);
    }
    for (const [index, what] of world.effects.log.slice(0, making).entries()) {
      const where = `crash at effect ${index + 1}, ${what}, and a deletion meanwhile`;
      const meanwhile: VirtualCrash["meanwhile"] = (user) => user.delete(serviceInstances, ref);
      const killed = await make(t, provisions, { after: index + 1, meanwhile });
      assert.equal(await killed.user.find(serviceInstances, ref), undefined, where);
      assert.deepEqual(killed.broker.instances(), [], where);
    }
  });

  test(`a broker that makes instances ${how} costs one write before the call and one after it`, async (t) => {
    const { effects } = await make(t, provisions);
    const at = effects.log.indexOf("provision");
    const around = ["patch ServiceInstance metadata", "provision", "patch ServiceInstance metadata"];
    assert.deepEqual(effects.log.slice(at - 1, at + 2), around);
    const writes = effects.log.filter((what) => what === "patch ServiceInstance metadata");
    // The finalizer and the name are one more, and the end of what takes a while another one.
    assert.equal(writes.length, provisions === "good" ? 4 : 3);
  });
}
