/**
 * Bindings that go back to the Go provider, and to ours again. `goReconcile` is a model of one reconcile of provider-anynines 1.5 in Go: it cannot be
 * run in virtual time, and its steps are few. It knows a binding at the broker by the object's UID alone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { managedServiceBindings } from "@klutch/api";
import { recordAt, type Secret, secrets } from "@klutch/kube-core";
import { BindingFixture } from "../testing/binding-fixture.ts";

const minute = 60_000;
const hour = 60 * minute;
const created = "anynines.crossplane.io/servicebinding-created";
const ref = { name: "b" };

async function goReconcile({ user, broker, ...fixture }: GoParts): Promise<string> {
  const { metadata, status } = (await fixture.binding()) ?? { metadata: {} };
  const { uid = "", annotations = {}, deletionTimestamp, finalizers } = metadata;
  const { instanceId, serviceID, planID } = recordAt(status, "atProvider");
  if ([instanceId, serviceID, planID].some((id) => id === undefined)) return "unset";
  const { osb } = broker.broker((_name, run) => run());
  const dropFinalizer = async (): Promise<string> => {
    assert.deepEqual(finalizers, ["finalizer.managedresource.crossplane.io"]);
    await user.mergePatch(managedServiceBindings, ref, { metadata: { finalizers: null } });
    return "gone";
  };
  const ids = { instanceId: String(instanceId), bindingId: uid };
  const plan = { serviceId: String(serviceID), planId: String(planID) };
  if (annotations[created] === undefined) {
    if (deletionTimestamp !== undefined) return dropFinalizer();
    const outcome = await osb.bind({ ...ids, ...plan });
    assert.equal(outcome.kind, "done");
    const { password } = outcome.kind === "done" ? outcome.credentials : {};
    await user.mergePatch(managedServiceBindings, ref, { metadata: { annotations: { [created]: "true" } } });
    const data = { password: Buffer.from(String(password)).toString("base64") };
    await user.mergePatch<Secret>(secrets, { namespace: "team", name: "b-creds" }, { data });
    return "bound";
  }
  try {
    await osb.fetchBinding(ids.instanceId, uid);
  } catch {
    // While it deletes, each error counts as gone; else it stays so for ever, and Ready and the Secret stay as they are.
    return deletionTimestamp === undefined ? "observe failed" : dropFinalizer();
  }
  if (deletionTimestamp === undefined) return "ready";
  await osb.unbind({ ...ids, ...plan });
  return dropFinalizer();
}

type GoParts = Pick<BindingFixture, "user" | "broker" | "binding">;

/** A binding that our provider made, in the hands of the Go provider; `rotate` runs before. */
async function handedBack(rotate?: (fixture: BindingFixture) => Promise<void>): Promise<BindingFixture> {
  const fixture = new BindingFixture();
  await fixture.add();
  fixture.start();
  await fixture.clock.advance(minute);
  await rotate?.(fixture);
  await fixture.stop();
  return fixture;
}

function go(fixture: BindingFixture): Promise<string> {
  const { user, broker } = fixture;
  return goReconcile({ user, broker, binding: () => fixture.binding() });
}

test("the Go provider binds nothing again, keeps the Secret, and its deletion leaves no login at the broker", async () => {
  await using fixture = await handedBack();
  assert.equal(await go(fixture), "ready");
  assert.equal(fixture.broker.binds.length, 1);
  assert.equal(await fixture.password(), "password 1");
  await fixture.delete();
  assert.equal(await go(fixture), "gone");
  assert.deepEqual([...fixture.broker.logins], []);
});

test("a broker that takes its time makes a binding that goes back all the same", async () => {
  await using fixture = new BindingFixture();
  fixture.broker.isSlow = true;
  await fixture.add();
  fixture.start();
  await fixture.clock.advance(5 * minute);
  await fixture.stop();
  assert.equal(await go(fixture), "ready");
  assert.equal(fixture.broker.binds.length, 1);
});

test("a rotated binding keeps its credentials with the Go provider, and goes on with ours, which ends all logins", async () => {
  await using fixture = await handedBack(async (before) => {
    await before.edit({ rotate: "1" });
    await before.clock.advance(hour + 2 * minute);
  });
  assert.equal(await go(fixture), "observe failed");
  assert.equal(await fixture.password(), "password 2");
  assert.deepEqual([...fixture.broker.logins.values()], ["password 2"]);
  fixture.start();
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition("Ready"), "True Available");
  assert.equal(fixture.broker.binds.length, 2);
  await fixture.delete();
  await fixture.clock.advance(minute);
  assert.deepEqual([...fixture.broker.logins], []);
});
