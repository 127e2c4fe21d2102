/** Bindings that the broker made and the status never showed: their Secret could not be written, or the provider was killed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DynamicObject, secrets } from "@klutch/kube-core";
import { BindingFixture } from "../testing/binding-fixture.ts";

const minute = 60_000;
const foreign = { namespace: "team", name: "b-creds" };

for (const [what, set] of [
  ["gives credentials again", {}],
  ["gives credentials once", { isRetrievable: false }],
  ["takes a while", { isSlow: true }],
] as const) {
  test(`its login at a broker that ${what} goes with it, and it is never ready`, async () => {
    await using fixture = new BindingFixture();
    Object.assign(fixture.broker, set);
    await fixture.add();
    const data = { user: Buffer.from("somebody").toString("base64") };
    await fixture.user.create<DynamicObject>(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: foreign,
      data,
    });
    fixture.start();
    await fixture.clock.advance(30 * minute);
    assert.match(
      await fixture.condition("Synced"),
      /^False ReconcileError .*refusing to modify uncontrolled secret/,
    );
    assert.doesNotMatch(await fixture.condition("Ready"), /^True/);
    assert.equal(fixture.broker.logins.size, 1);
    await fixture.delete();
    await fixture.clock.advance(30 * minute);
    assert.equal(await fixture.binding(), undefined);
    assert.equal(fixture.broker.logins.size, 0);
    assert.deepEqual((await fixture.user.find<DynamicObject>(secrets, foreign))?.["data"], data);
  });
}

test("when the foreign Secret goes the binding is ready with the login that it has", async () => {
  await using fixture = new BindingFixture();
  await fixture.add();
  await fixture.user.create<DynamicObject>(secrets, { apiVersion: "v1", kind: "Secret", metadata: foreign });
  fixture.start();
  await fixture.clock.advance(5 * minute);
  await fixture.user.delete(secrets, foreign);
  await fixture.clock.advance(30 * minute);
  assert.equal(await fixture.condition("Ready"), "True Available");
  assert.equal(await fixture.password(), "password 1");
  assert.equal(fixture.broker.logins.size, 1);
});

for (const isSlow of [false, true]) {
  test(`a provider that is killed at any time, and a deletion before it is back: nothing is left (${isSlow ? "async" : "sync"})`, async () => {
    const good = new BindingFixture();
    await using _ = good;
    good.broker.isSlow = isSlow;
    await good.add();
    good.start();
    await good.clock.advance(10 * minute);
    const crashes = good.effects.log.length;
    assert.ok(crashes > 4);
    for (let index = 1; index <= crashes; index++) {
      await using fixture = new BindingFixture(new Map([[index, "crash"]]));
      fixture.broker.isSlow = isSlow;
      fixture.whileDown = () => fixture.delete();
      await fixture.add();
      fixture.start();
      await fixture.clock.advance(60 * minute);
      const where = `crash at effect ${index}, ${good.effects.log[index - 1]}`;
      assert.equal(fixture.starts, 2, where);
      assert.equal(await fixture.binding(), undefined, where);
      assert.equal(fixture.broker.logins.size, 0, where);
    }
  });
}
