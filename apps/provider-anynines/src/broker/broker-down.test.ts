/** Limits how often the provider calls a backend that refuses or loses the same call for ever. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, managedServiceBindings, serviceInstances } from "@klutch/api";
import type { BackupManagerCall } from "@klutch/backup-manager";
import { BackupFixture } from "../testing/backup-fixture.ts";
import type { CountedBroker } from "../testing/counted-broker.ts";
import { refusal } from "../testing/memory-manager.ts";
import { startVirtualProvider } from "../testing/virtual-provider.ts";
import { binding, instance } from "../testing/fixture.ts";

const minute = 60_000;
const hour = 60 * minute;
/** Calls of one operation in an hour: one a minute in the end, one in thirty seconds at most, and some at the beginning. */
const most = 130;

/** Number of calls of each verb. */
function counted(calls: readonly string[]): Readonly<Record<string, number>> {
  const times = new Map<string, number>();
  for (const call of calls) times.set(call, (times.get(call) ?? 0) + 1);
  return Object.fromEntries(times);
}

function assertRare(calls: readonly string[], besides: Readonly<Record<string, number>> = {}): void {
  const times = counted(calls);
  for (const [call, count] of Object.entries(times))
    assert.ok(count <= (besides[call] ?? most), `${call}: ${count} in an hour, of ${JSON.stringify(times)}`);
}

const since = ({ calls }: CountedBroker, from: number): readonly string[] =>
  calls.filter(({ at }) => at >= from).map(({ operation }) => operation);

for (const deletions of ["good", "slow", "broken", "down"] as const) {
  test(`a broker that answers 500 to each create, and whose deletions are ${deletions}`, async (t) => {
    const { broker, user, clock } = await startVirtualProvider(t, 0);
    Object.assign(broker.state, { provisions: "down", deletions });
    await user.create(serviceInstances, instance("one"));
    await clock.advance(hour);
    // A deletion that takes a while is asked for.
    assertRare(since(broker, 0), { last_operation: 2 * most });
  });

  test(`a broker that answers 500 to each bind, and whose deletions are ${deletions}`, async (t) => {
    const { broker, user, clock } = await startVirtualProvider(t, 0);
    Object.assign(broker.state, { bindings: "down", deletions });
    await user.create(serviceInstances, instance("one"));
    await clock.advance(5_000);
    const from = clock.monotonic();
    await user.create(managedServiceBindings, binding("bound", "one"));
    await clock.advance(hour);
    assert.ok(since(broker, from).includes("bind"));
    assertRare(since(broker, from), { last_operation: 2 * most });
  });
}

test("a broker that answers 500 to each change", async (t) => {
  const { broker, user, clock } = await startVirtualProvider(t, 0);
  broker.state.updates = "down";
  await user.create(serviceInstances, instance("one"));
  await clock.advance(5_000);
  const spec = { forProvider: { parameters: { work_mem: "8MB" } } };
  await user.mergePatch(serviceInstances, { name: "one" }, { spec });
  await clock.advance(hour);
  assert.ok(since(broker, 0).includes("update"));
  assertRare(since(broker, 0));
});

test("a broker that answers 500 to each deletion", async (t) => {
  const { broker, user, clock } = await startVirtualProvider(t, 0);
  broker.state.deletions = "down";
  await user.create(serviceInstances, instance("one"));
  await clock.advance(5_000);
  await user.create(managedServiceBindings, binding("bound", "one"));
  await clock.advance(5_000);
  await user.delete(managedServiceBindings, { name: "bound" });
  await user.delete(serviceInstances, { name: "one" });
  const from = clock.monotonic();
  await clock.advance(hour);
  assert.ok(since(broker, from).includes("unbind"));
  assertRare(since(broker, from));
});

/** A backup manager and what it was asked in the hour after `act`. */
async function asked(act: (fixture: BackupFixture) => Promise<void>): Promise<readonly string[]> {
  await using fixture = new BackupFixture();
  await fixture.addInstance();
  fixture.start();
  await fixture.clock.advance(minute);
  await act(fixture);
  fixture.manager.asked.length = 0;
  await fixture.clock.advance(hour);
  return fixture.manager.asked.map(({ call }) => call);
}

/** A call that may have been done is looked for before it is made again, a little more often. */
const looks = { listBackups: 4 * most, listRestores: 4 * most };

async function addBackup(fixture: BackupFixture): Promise<void> {
  await fixture.addBackup("b");
  await fixture.clock.advance(minute);
}

const failing = (fixture: BackupFixture, call: BackupManagerCall): unknown =>
  fixture.manager.refusals.set(call, refusal(call, 500, "Broken", "out of order"));

test("a backup manager that answers 500 to each backup", async () => {
  const calls = await asked(async (fixture) => {
    failing(fixture, "createBackup");
    await fixture.addBackup("b");
  });
  assert.ok(calls.includes("createBackup"));
  assertRare(calls, looks);
});

test("a backup manager that answers 500 to each restore", async () => {
  const calls = await asked(async (fixture) => {
    await addBackup(fixture);
    failing(fixture, "createRestore");
    await fixture.addRestore("r");
  });
  assert.ok(calls.includes("createRestore"));
  assertRare(calls, looks);
});

test("a backup manager that answers 500 to each question for a restore", async () => {
  const calls = await asked(async (fixture) => {
    await addBackup(fixture);
    failing(fixture, "getRestore");
    await fixture.addRestore("r");
  });
  assert.ok(calls.includes("getRestore"));
  assertRare(calls);
});

for (const [what, prepare] of [
  ["answers 500 to each deletion", (fixture: BackupFixture) => failing(fixture, "deleteBackup")],
  ["accepts each deletion and does nothing", ({ manager }: BackupFixture) => (manager.deletes = false)],
] as const) {
  test(`a backup manager that ${what}`, async () => {
    const calls = await asked(async (fixture) => {
      await addBackup(fixture);
      prepare(fixture);
      await fixture.user.delete(backups, { name: "b" });
    });
    assert.ok(calls.includes("deleteBackup"));
    assertRare(calls, { getBackup: 2 * most });
  });
}
