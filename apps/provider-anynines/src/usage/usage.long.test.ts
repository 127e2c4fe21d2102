/** The ledger on a real API server with the sandbox's real broker, beside the test's own stop watch. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceInstances, type UsageLedger, usageLedgers } from "@klutch/api";
import { waitFor } from "@klutch/kube-testing";
import { edit, instance, startFixture } from "../testing/fixture.ts";
import { team } from "../testing/kinds.ts";

test("a ledger has the seconds of databases that are gone, also when the provider was away in between", async () => {
  await using fixture = await startFixture("usage");
  const { client } = fixture;
  const names = ["one", "two", "three"];
  const created = Date.now();
  let stop = fixture.run();
  for (const name of names) await client.create(serviceInstances, instance(name));
  for (const name of names)
    await fixture.condition(serviceInstances, name, { type: "Ready", status: "True" }, 60_000);
  const ready = Date.now();
  await stop();
  const edited = Date.now();
  const plan = "postgresql-single-small";
  await edit(fixture, "one", { planName: plan });
  stop = fixture.run();
  await waitFor("the plan to change", async () => {
    const { planId } = await fixture.atProvider(serviceInstances, "one");
    const { planId: other } = await fixture.atProvider(serviceInstances, "two");
    return planId !== other;
  });
  await fixture.condition(serviceInstances, "one", { type: "Ready", status: "True" }, 60_000);
  const changed = Date.now();
  await stop();
  const deleted = Date.now();
  for (const name of names) await client.delete(serviceInstances, { name });
  stop = fixture.run();
  for (const name of names) await fixture.gone(serviceInstances, { name });
  const end = Date.now();
  await stop();
  assert.deepEqual(await fixture.databases(), []);
  const ledgers = await Array.fromAsync(client.listAll<UsageLedger>(usageLedgers));
  const rows = ledgers.flatMap(({ spec }) => {
    assert.equal(spec.namespace, team);
    return spec.rows;
  });
  const secondsOf = (name: string): number =>
    rows.filter((row) => row.plan === name).reduce((sum, { seconds }) => sum + seconds, 0);
  // Each of at most three intervals is cut to whole seconds.
  const between = (seconds: number, leastMs: number, mostMs: number): void =>
    assert.ok(
      seconds >= leastMs / 1_000 - 3 && seconds <= mostMs / 1_000 + 3,
      `${seconds} s are not between ${leastMs} ms and ${mostMs} ms`,
    );
  between(
    secondsOf("postgresql-single-nano"),
    edited - ready + 2 * (deleted - ready),
    changed - created + 2 * (end - created),
  );
  between(secondsOf(plan), deleted - changed, end - edited);
  assert.equal(
    rows.reduce((sum, { ended }) => sum + ended, 0),
    3,
  );
});
