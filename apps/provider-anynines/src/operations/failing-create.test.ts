/** Checks `Synced` while each create fails: at any moment it must show the failure. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { backups, managedServiceBindings, serviceInstances } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { conditionsOf, type DynamicObject, findCondition, type ResourceType } from "@klutch/kube-core";
import { Informer } from "@klutch/kube-runtime";
import { seededRandom } from "@klutch/kube-testing";
import { BackupFixture } from "../testing/backup-fixture.ts";
import type { CountedBroker } from "../testing/counted-broker.ts";
import { refusal } from "../testing/memory-manager.ts";
import { startVirtualProvider } from "../testing/virtual-provider.ts";
import { binding, instance } from "../testing/fixture.ts";

const minute = 60_000;
const hour = 60 * minute;

/** Each state of `Synced` that the kind's objects show from now on, without repetitions. */
function follow(
  t: TestContext,
  { client, clock }: Pick<BackupFixture, "clock"> & { readonly client: KubeClient },
  type: ResourceType,
): readonly string[] {
  const seen: string[] = [];
  const informer = new Informer<DynamicObject>({ client, type, clock, random: seededRandom(1) });
  informer.onChange(({ object }) => {
    const condition = findCondition(conditionsOf(object), "Synced");
    const said = `${condition?.status} ${condition?.reason}`;
    if (condition !== undefined && seen.at(-1) !== said) seen.push(said);
  });
  informer.start();
  t.after(() => informer[Symbol.asyncDispose]());
  return seen;
}

type Deletions = CountedBroker["state"]["deletions"];

for (const deletions of ["good", "slow", "broken"] satisfies readonly Deletions[]) {
  test(`an instance whose creates fail says so all the time, while deletions are ${deletions}`, async (t) => {
    const { broker, user, clock } = await startVirtualProvider(t, 0);
    Object.assign(broker.state, { provisions: "down", deletions });
    const seen = follow(t, { client: user, clock }, serviceInstances);
    await user.create(serviceInstances, instance("one"));
    await clock.advance(hour);
    assert.match(seen.join(", "), /^False /);
    assert.ok(!seen.includes("True ReconcileSuccess"), seen.join(", "));
    Object.assign(broker.state, { provisions: "good", deletions: "good" });
    await clock.advance(5 * minute);
    assert.equal(seen.at(-1), "True ReconcileSuccess");
  });

  test(`a binding whose creates fail says so all the time, while deletions are ${deletions}`, async (t) => {
    const { broker, user, clock } = await startVirtualProvider(t, 0);
    Object.assign(broker.state, { bindings: "down", deletions });
    await user.create(serviceInstances, instance("one"));
    await clock.advance(5_000);
    const seen = follow(t, { client: user, clock }, managedServiceBindings);
    await user.create(managedServiceBindings, binding("bound", "one"));
    await clock.advance(hour);
    assert.match(seen.join(", "), /^False /);
    assert.ok(!seen.includes("True ReconcileSuccess"), seen.join(", "));
    Object.assign(broker.state, { bindings: "good", deletions: "good" });
    await clock.advance(5 * minute);
    assert.equal(seen.at(-1), "True ReconcileSuccess");
  });
}

test("a backup whose creates have no clear answer says so all the time", async (t) => {
  await using fixture = new BackupFixture();
  await fixture.addInstance();
  fixture.start();
  await fixture.clock.advance(minute);
  fixture.manager.refusals.set("createBackup", refusal("createBackup", 500, "Broken", "out of order"));
  const seen = follow(t, { client: fixture.user, clock: fixture.clock }, backups);
  await fixture.addBackup("b");
  await fixture.clock.advance(hour);
  assert.match(seen.join(", "), /^False /);
  assert.ok(!seen.includes("True ReconcileSuccess"), seen.join(", "));
  fixture.manager.refusals.clear();
  await fixture.clock.advance(5 * minute);
  assert.equal(seen.at(-1), "True ReconcileSuccess");
});
