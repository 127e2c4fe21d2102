/** A provider that is killed while it makes or deletes an instance. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ServiceInstance } from "@klutch/api";
import { bothScopes, refIn, type TestKinds } from "../testing/kinds.ts";
import {
  startVirtualProvider,
  type VirtualCrash,
  type VirtualProvider,
} from "../testing/virtual-provider.ts";
import { instance } from "../testing/fixture.ts";

const minute = 60_000;

/** The broker's way of making instances. */
type Provisions = VirtualProvider["broker"]["state"]["provisions"];

/** A provider of one generation with an instance that it has made. */
interface Made extends VirtualProvider {
  find(): Promise<ServiceInstance | undefined>;
  delete(): Promise<unknown>;
}

async function make(
  t: TestContext,
  kinds: TestKinds,
  provisions: Provisions,
  crash?: VirtualCrash,
): Promise<Made> {
  const fixture = await startVirtualProvider(t, 5_000, { crash, kinds });
  const { instances } = kinds.types;
  const ref = refIn(instances, "one");
  fixture.broker.state.provisions = provisions;
  await fixture.user.create(instances, kinds.of(instance("one")));
  await fixture.clock.advance(10 * minute);
  return {
    ...fixture,
    find: () => fixture.user.find<ServiceInstance>(instances, ref),
    delete: () => fixture.user.delete(instances, ref),
  };
}

async function end(made: Made): Promise<void> {
  if ((await made.find()) !== undefined) await made.delete();
  await made.clock.advance(10 * minute);
}

for (const kinds of bothScopes) {
  for (const [how, provisions] of [
    ["at once", "at once"],
    ["at once and answers 409 to a repeated call", "once"],
    ["in a while", "good"],
  ] as const) {
    test(`${kinds.title}: whenever it is killed, a broker that makes instances ${how} has one, and none after its deletion`, async (t) => {
      const fixture = await make(t, kinds, provisions);
      const making = fixture.effects.count;
      await end(fixture);
      for (const [index, what] of fixture.effects.log.entries()) {
        const where = `crash at effect ${index + 1}, ${what}`;
        const crash = { after: index + 1, meanwhile: () => Promise.resolve() };
        const killed = await make(t, kinds, provisions, crash);
        const { status } = (await killed.find()) ?? {};
        assert.equal(status?.atProvider?.state, "provisioned", where);
        assert.deepEqual(killed.broker.instances(), [status.atProvider.instanceId], where);
        await end(killed);
        assert.equal(await killed.find(), undefined, where);
        assert.deepEqual(killed.broker.instances(), [], where);
      }
      for (const [index, what] of fixture.effects.log.slice(0, making).entries()) {
        const where = `crash at effect ${index + 1}, ${what}, and a deletion meanwhile`;
        const { instances } = kinds.types;
        const meanwhile: VirtualCrash["meanwhile"] = (user) =>
          user.delete(instances, refIn(instances, "one"));
        const killed = await make(t, kinds, provisions, { after: index + 1, meanwhile });
        assert.equal(await killed.find(), undefined, where);
        assert.deepEqual(killed.broker.instances(), [], where);
      }
    });

    test(`${kinds.title}: a broker that makes instances ${how} costs one write before the call and one after it`, async (t) => {
      const { effects } = await make(t, kinds, provisions);
      const at = effects.log.indexOf("provision");
      const around = ["patch ServiceInstance metadata", "provision", "patch ServiceInstance metadata"];
      assert.deepEqual(effects.log.slice(at - 1, at + 2), around);
      const writes = effects.log.filter((what) => what === "patch ServiceInstance metadata");
      // The finalizer and the name are one more, and the end of what takes a while another one.
      assert.equal(writes.length, provisions === "good" ? 4 : 3);
    });
  }

  test(`${kinds.title}: somebody who writes the instance during its deprovisioning does not make the provider ask twice`, async (t) => {
    const made = await make(t, kinds, "good");
    const { broker, user, clock } = made;
    const { instances } = kinds.types;
    const deprovision = broker.osb.deprovision.bind(broker.osb);
    broker.state.deletions = "slow";
    broker.osb.deprovision = async (...call) => {
      await user.mergePatch(instances, refIn(instances, "one"), { metadata: { labels: { other: "1" } } });
      return deprovision(...call);
    };
    await made.delete();
    await clock.advance(minute);
    assert.equal(await made.find(), undefined);
    assert.equal(broker.calls.filter(({ operation }) => operation === "deprovision").length, 1);
  });
}
