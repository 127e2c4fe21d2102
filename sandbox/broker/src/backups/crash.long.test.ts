import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { onDemandServices } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { plans } from "../catalog.ts";
import type { Credentials } from "../drivers/driver.ts";
import { type BrokerProcess, leftIn, startProcess } from "../testing/crash.ts";
import { databaseOf, login, nano, place, query, startFixture } from "../testing/fixture.ts";
import { serviceData } from "../testing/service-data.ts";
import type { BrokerConfig } from "../config.ts";

/** The server, and a broker that makes instances and bindings; those with backups are processes that die. */
const fixture = await startFixture();
after(() => fixture[Symbol.asyncDispose]());
const root = await mkdtemp(join(tmpdir(), "klutch-crash-"));
after(() => rm(root, { recursive: true, force: true }));

/** An instance with one row, and a folder for its backups. */
async function scene(id: string): Promise<{
  readonly uri: string;
  readonly config: BrokerConfig;
  readonly left: () => Promise<readonly string[]>;
}> {
  await fixture.provisioned(id);
  const uri = await fixture.bound(id, `${id}-1`);
  await query(uri, "create table t (a int)", "insert into t values (1)");
  const folder = join(root, id);
  const backups = { folder, retention: { days: 14, minCount: 3 } };
  return { uri, config: { ...fixture.config, backups }, left: () => leftIn(folder, fixture.adminUrl) };
}

/** Milliseconds for what waits for a server to start. */
const timeoutMs = 200_000;

/** States of all backups, once none is open. */
async function backupsOf({ manager }: BrokerProcess, id: string): Promise<readonly string[]> {
  let states: readonly string[] = [];
  const areEnded = async (): Promise<boolean> => {
    states = (await manager.listBackups(id)).map(({ state }) => state);
    return !states.some((state) => state === "queued" || state === "running");
  };
  await waitFor("the backups to end", areEnded, { timeoutMs });
  return states;
}

async function restoresOf({ manager }: BrokerProcess, id: string): Promise<readonly string[]> {
  let states: readonly string[] = [];
  const areEnded = async (): Promise<boolean> => {
    states = (await manager.listRestores(id)).map(({ state }) => state);
    return !states.some((state) => state === "queued" || state === "running");
  };
  await waitFor("the restores to end", areEnded, { timeoutMs });
  return states;
}

/** Makes a backup that nothing disturbs, and returns its number. */
async function backUp(broker: BrokerProcess, id: string): Promise<number> {
  const { backupId } = await broker.manager.createBackup(id);
  assert.deepEqual(new Set(await backupsOf(broker, id)), new Set(["done"]));
  return backupId;
}

/** Ends a broker at the step of a call, after what `before` does. The answer may be lost with the process. */
async function crash<T>(
  config: BrokerConfig,
  step: string,
  before: (broker: BrokerProcess) => Promise<T>,
  call: (broker: BrokerProcess, prepared: T) => Promise<unknown>,
): Promise<T> {
  await using broker = await startProcess(config, step);
  const prepared = await before(broker);
  await call(broker, prepared).catch(() => undefined);
  await broker.ended;
  return prepared;
}

const nothing = (): Promise<undefined> => Promise.resolve(undefined);

const rows = (uri: string): Promise<unknown> => query(uri, "select a from t order by a");
const slug = (step: string): string => step.replaceAll(" ", "-");

for (const step of ["backup running", "backup written", "backup named", "backup done"])
  test(`killed at "${step}", the backup is made once, and its file is the only one`, async () => {
    const id = slug(step);
    const { config, left, uri } = await scene(id);
    await crash(config, step, nothing, ({ manager }) => manager.createBackup(id));
    await using broker = await startProcess(config);
    assert.deepEqual(await backupsOf(broker, id), ["done"]);
    const [backup] = await broker.manager.listBackups(id);
    assert.deepEqual(await left(), [`${backup?.id}.backup`]);
    await query(uri, "delete from t");
    await broker.manager.createRestore({ instanceId: id, backupId: backup?.id ?? 0 });
    assert.deepEqual(await restoresOf(broker, id), ["done"]);
    assert.deepEqual(await rows(uri), [{ a: 1 }]);
  });

for (const step of [
  "restore running",
  "restore checked",
  "restore staged",
  "restore swapped",
  "restore exchanged",
  "restore done",
])
  test(`killed at "${step}", the restore takes place once, and no row after it is lost`, async () => {
    const id = slug(step);
    const { config, left, uri } = await scene(id);
    const prepare = async (broker: BrokerProcess): Promise<number> => {
      const made = await backUp(broker, id);
      await query(uri, "insert into t values (2)");
      return made;
    };
    const backupId = await crash(config, step, prepare, ({ manager }, made) =>
      manager.createRestore({ instanceId: id, backupId: made }),
    );
    const hasEnded = step === "restore exchanged" || step === "restore done";
    // The instance is open again already, though its restore still counts as running.
    if (hasEnded) await query(uri, "insert into t values (3)");
    // Before the exchange the old rows are all there; just after it connections are refused.
    else if (step !== "restore swapped") assert.deepEqual(await rows(uri), [{ a: 1 }, { a: 2 }]);
    await using broker = await startProcess(config);
    assert.deepEqual(await restoresOf(broker, id), ["done"]);
    assert.deepEqual(await rows(uri), hasEnded ? [{ a: 1 }, { a: 3 }] : [{ a: 1 }]);
    assert.deepEqual(await left(), [`${backupId}.backup`]);
    const owner = `o${databaseOf(uri).slice(1)}`;
    assert.deepEqual(await query(uri, "select current_user as name"), [{ name: owner }]);
    // The broker may change it again.
    await broker.osb.unbind({ ...nano, instanceId: id, bindingId: `${id}-1` });
  });

for (const step of ["delete begun", "delete file removed"])
  test(`killed at "${step}", the backup is deleted, and nothing is restored from it`, async () => {
    const id = slug(step);
    const { config, left } = await scene(id);
    const prepare = (broker: BrokerProcess): Promise<number> => backUp(broker, id);
    await crash(config, step, prepare, ({ manager }, backupId) =>
      manager.deleteBackup({ instanceId: id, backupId }),
    );
    await using broker = await startProcess(config);
    assert.deepEqual(await backupsOf(broker, id), ["deleted"]);
    assert.deepEqual(await left(), []);
  });

test('killed at "forget file removed", a deprovisioned instance leaves no backup', async () => {
  const { config, left } = await scene("forget");
  const prepare = async (broker: BrokerProcess): Promise<void> => {
    for (const _ of [1, 2]) await backUp(broker, "forget");
  };
  await crash(config, "forget file removed", prepare, ({ osb }) =>
    osb.deprovision({ ...nano, instanceId: "forget" }),
  );
  await using broker = await startProcess(config);
  await waitFor("the instance to be gone", async () =>
    broker.osb.lastOperation({ instanceId: "forget" }).then(
      () => false,
      () => true,
    ),
  );
  assert.deepEqual(await left(), []);
});

test("killed while pg_dump waits for a tenant's lock, the next process makes the backup once", async () => {
  const { config, left, uri } = await scene("locked");
  await using tenant = await login(uri);
  await tenant.query("begin");
  await tenant.query("lock table t in access exclusive mode");
  {
    await using broker = await startProcess(config);
    await broker.manager.createBackup("locked");
    await sessionsOfDumps(databaseOf(uri));
    await broker.kill();
  }
  await using broker = await startProcess(config);
  await tenant.query("commit");
  assert.deepEqual(await backupsOf(broker, "locked"), ["done"]);
  const [backup] = await broker.manager.listBackups("locked");
  assert.deepEqual(await left(), [`${backup?.id}.backup`]);
});

test("killed while pg_restore runs, the next process restores once, from an empty database", async () => {
  const { config, left, uri } = await scene("slow");
  await query(
    uri,
    `create function slow(int) returns boolean language plpgsql as $$ begin
       if session_user like 'b%' then perform pg_sleep(0.2); end if; return true; end $$`,
    "create table s (a int check (public.slow(a)))",
    "insert into s select generate_series(1, 10)",
  );
  let backupId = 0;
  {
    await using broker = await startProcess(config);
    backupId = await backUp(broker, "slow");
    await broker.manager.createRestore({ instanceId: "slow", backupId });
    await sessionsOfDumps(`${databaseOf(uri)}_staging`);
    await broker.kill();
  }
  await using broker = await startProcess(config);
  assert.deepEqual(await restoresOf(broker, "slow"), ["done"]);
  assert.deepEqual(await query(uri, "select count(*)::int as n from s"), [{ n: 10 }]);
  assert.deepEqual(await left(), [`${backupId}.backup`]);
});

async function sessionsOfDumps(database: string): Promise<void> {
  await waitFor("a session of the dump", async () => {
    const found = await query(
      fixture.adminUrl,
      `select 1 from pg_stat_activity where datname = '${database}' and application_name = 'klutch-backup'
         and (wait_event_type = 'Lock' or wait_event = 'PgSleep')`,
    );
    return Array.isArray(found) && found.length > 0;
  });
}

/** Ends a broker at a step of what it takes up by itself; it may end before it serves. */
async function crashInTakenUp(config: BrokerConfig, step: string): Promise<void> {
  const broker = await startProcess(config, step).catch(() => undefined);
  await broker?.ended;
  await broker?.[Symbol.asyncDispose]();
}

/** Waits for an operation at the broker; its first server may have to be built. */
async function finished({ osb }: BrokerProcess, instanceId: string): Promise<void> {
  const isDone = async (): Promise<boolean> => {
    const { state, description } = await osb.lastOperation({ instanceId });
    assert.notEqual(state, "failed", description);
    return state === "succeeded";
  };
  await waitFor(`the operation on ${instanceId}`, isDone, { timeoutMs });
}

for (const [type, { plan: planName, add, remove, names }] of Object.entries(serviceData))
  test(`${type}: killed in a backup and twice in its restore, destroyed data are back exactly, once, at the same credentials`, async () => {
    const folder = join(root, type, "backups");
    const dataFolder = join(root, type, "servers");
    const backups = { folder, retention: { days: 14, minCount: 3 } };
    const services = onDemandServices.filter((one) => one === type);
    const config: BrokerConfig = { ...fixture.config, backups, dataFolder, services };
    const { id: planId = "", serviceId = "" } = plans.find(({ name }) => name === planName) ?? {};
    const ids = { serviceId, planId, instanceId: type };
    const provision = async (broker: BrokerProcess): Promise<Credentials> => {
      await broker.osb.provision({ ...ids, ...place });
      await finished(broker, type);
      const outcome = await broker.osb.bind({ ...ids, bindingId: `${type}-1` });
      assert.ok(outcome.kind === "done" && outcome.credentials !== undefined);
      for (const name of ["a", "b"]) await add(outcome.credentials, name);
      return outcome.credentials;
    };
    const backUpOnly = ({ manager }: BrokerProcess): Promise<unknown> => manager.createBackup(type);
    const credentials = await crash(config, "backup written", provision, backUpOnly);
    const destroy = async (broker: BrokerProcess): Promise<number> => {
      assert.deepEqual(await backupsOf(broker, type), ["done"]);
      await waitFor("the data", () => names(credentials).catch(() => undefined), { timeoutMs });
      await remove(credentials, "a");
      await add(credentials, "newer");
      return (await broker.manager.listBackups(type))[0]?.id ?? 0;
    };
    const backupId = await crash(config, "restore staged", destroy, ({ manager }, made) =>
      manager.createRestore({ instanceId: type, backupId: made }),
    );
    await crashInTakenUp(config, "restore swapped");
    await using broker = await startProcess(config);
    assert.deepEqual(await restoresOf(broker, type), ["done"]);
    assert.deepEqual((await broker.osb.fetchBinding(type, `${type}-1`)).credentials, credentials);
    const read = (): Promise<readonly string[] | undefined> => names(credentials).catch(() => undefined);
    assert.deepEqual(await waitFor("the data", read, { timeoutMs }), ["a", "b"]);
    assert.deepEqual(await readdir(folder), [`${backupId}.backup`]);
    for (const name of ["a", "b"]) await remove(credentials, name);
    await broker.osb.unbind({ ...ids, bindingId: `${type}-1` });
    await broker.osb.deprovision(ids);
    const isGone = (): Promise<boolean> =>
      broker.osb.lastOperation({ instanceId: type }).then(
        () => false,
        () => true,
      );
    await waitFor("the instance to be gone", isGone, { timeoutMs });
    assert.deepEqual(await readdir(folder), []);
    const left = await readdir(join(dataFolder, type)).catch(() => []);
    // Programs that all instances of a service share stay.
    assert.deepEqual(
      left.filter((name) => name !== "programs"),
      [],
    );
  });
