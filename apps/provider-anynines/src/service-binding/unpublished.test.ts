/** Bindings that the broker made and the status never showed: their Secret could not be written, or the provider was killed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DynamicObject, secrets } from "@klutch/kube-core";
import { BindingWorld } from "../testing/binding-world.ts";

const minute = 60_000;
const foreign = { namespace: "team", name: "b-creds" };

for (const [what, set] of [
  ["gives credentials again", {}],
  ["gives credentials once", { isRetrievable: false }],
  ["takes a while", { isSlow: true }],
] as const) {
  test(`its login at a broker that ${what} goes with it, and it is never ready`, async () => {
    await using world = new BindingWorld();
    Object.assign(world.broker, set);
    await world.add();
    const data = { user: Buffer.from("somebody").toString("base64") };
    await world.user.create<DynamicObject>(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: foreign,
      data,
    });
    world.start();
    await world.clock.advance(30 * minute);
    assert.match(
      await world.condition("Synced"),
      /^False ReconcileError .*refusing to modify uncontrolled secret/,
    );
    assert.doesNotMatch(await world.condition("Ready"), /^True/);
    assert.equal(world.broker.logins.size, 1);
    await world.delete();
    await world.clock.advance(30 * minute);
    assert.equal(await world.binding(), undefined);
    assert.equal(world.broker.logins.size, 0);
    assert.deepEqual((await world.user.find<DynamicObject>(secrets, foreign))?.["data"], data);
  });
}

test("when the foreign Secret goes the binding is ready with the login that it has", async () => {
  await using world = new BindingWorld();
  await world.add();
  await world.user.create<DynamicObject>(secrets, { apiVersion: "v1", kind: "Secret", metadata: foreign });
  world.start();
  await world.clock.advance(5 * minute);
  await world.user.delete(secrets, foreign);
  await world.clock.advance(30 * minute);
  assert.equal(await world.condition("Ready"), "True Available");
  assert.equal(await world.password(), "password 1");
  assert.equal(world.broker.logins.size, 1);
});

for (const isSlow of [false, true]) {
  test(`a provider that is killed at any time, and a deletion before it is back: nothing is left (${isSlow ? "async" : "sync"})`, async () => {
    const good = new BindingWorld();
    await using _ = good;
    good.broker.isSlow = isSlow;
    await good.add();
    good.start();
    await good.clock.advance(10 * minute);
    const crashes = good.effects.log.length;
    assert.ok(crashes > 4);
    for (let index = 1; index <= crashes; index++) {
      await using world = new BindingWorld(new Map([[index, "crash"]]));
      world.broker.isSlow = isSlow;
      world.whileDown = () => world.delete();
      await world.add();
      world.start();
      await world.clock.advance(60 * minute);
      const where = `crash at effect ${index}, ${good.effects.log[index - 1]}`;
      assert.equal(world.starts, 2, where);
      assert.equal(await world.binding(), undefined, where);
      assert.equal(world.broker.logins.size, 0, where);
    }
  });
}
