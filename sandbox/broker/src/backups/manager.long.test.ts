import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  type BackupManagerClient,
  BackupManagerError,
  isGone,
  isLocked,
  isNotRestorable,
  isRestoreRunning,
} from "@klutch/backup-manager";
import { waitFor } from "@klutch/kube-testing";
import { startBackupFixture } from "../testing/backups.ts";
import { adminDatabase } from "../store.ts";
import { auth, nano, query } from "../testing/fixture.ts";

/** Steps at which the work waits, each with what lets it go on. */
const held = new Map<string, Promise<void>>();
const backups = await startBackupFixture({ onStep: (step) => held.get(step) });
after(() => backups[Symbol.asyncDispose]());
const { fixture, backedUp, restored, folder } = backups;
const { provisioned, bound } = fixture;
const manager = (): BackupManagerClient => backups.manager();

/** Holds the work at the step until it is disposed. */
function hold(step: string): Disposable {
  const { promise, resolve } = Promise.withResolvers<void>();
  held.set(step, promise);
  return {
    [Symbol.dispose]() {
      held.delete(step);
      resolve();
    },
  };
}

const error =
  (status: number, code: string, words: RegExp) =>
  (thrown: unknown): true => {
    assert.ok(thrown instanceof BackupManagerError, String(thrown));
    assert.deepEqual([thrown.status, thrown.error], [status, code]);
    assert.match(thrown.description, words);
    return true;
  };

test("rows that were destroyed are back after a restore, and the list of both tells it", async () => {
  await provisioned("chain");
  const uri = await bound("chain", "chain-1");
  await query(uri, "create table t (a int)", "insert into t values (1), (2)");
  const backupId = await backedUp("chain");
  await query(uri, "drop table t");
  await restored("chain", backupId);
  assert.deepEqual(await query(uri, "select sum(a)::int as sum from t"), [{ sum: 3 }]);
  const [backup, ...moreBackups] = await manager().listBackups("chain");
  const [restore, ...moreRestores] = await manager().listRestores("chain");
  assert.deepEqual([moreBackups, moreRestores], [[], []]);
  assert.ok(backup?.triggeredAtMs !== undefined && backup.finishedAtMs !== undefined);
  assert.ok(backup.finishedAtMs >= backup.triggeredAtMs);
  const { size } = backup;
  assert.equal((await readFile(join(folder, `${backupId}.backup`))).length, size);
  assert.deepEqual([backup.id, backup.state, backup.downloadable], [backupId, "done", false]);
  assert.deepEqual([restore?.backupId, restore?.state], [backupId, "done"]);
  assert.deepEqual(await manager().getBackup({ instanceId: "chain", backupId }), backup);
  assert.deepEqual(await manager().getRestore({ instanceId: "chain", restoreId: restore?.id ?? 0 }), restore);
});

test("a backup belongs to its number, and no changed one is restored", async () => {
  await provisioned("secret");
  const uri = await bound("secret", "secret-1");
  await query(uri, "create table t (a text)", "insert into t values ('first')");
  const first = await backedUp("secret");
  await query(uri, "insert into t values ('later')");
  const second = await backedUp("secret");
  assert.ok(second > first);
  const path = (id: number): string => join(folder, `${id}.backup`);
  const [one, two] = [await readFile(path(first)), await readFile(path(second))];
  const flipped = Buffer.from(one);
  flipped.writeUInt8(flipped.readUInt8(200) ^ 1, 200);
  const lies: readonly (readonly [Buffer, RegExp])[] = [
    [flipped, /its checksum is another one/],
    [one.subarray(0, -1), /has \d+ bytes instead of the \d+ that were written/],
    [two, /has \d+ bytes instead|its checksum is another one/],
  ];
  for (const [lie, words] of lies) {
    await writeFile(path(first), lie);
    await assert.rejects(restored("secret", first));
    const last = (await manager().listRestores("secret")).at(-1);
    assert.equal(last?.state, "failed");
    assert.match(await messageOf("secret", last.id), words);
  }
  await rm(path(first));
  await assert.rejects(restored("secret", first));
  const last = (await manager().listRestores("secret")).at(-1);
  assert.match(await messageOf("secret", last?.id ?? 0), /the file of backup \d+ is gone/);
  assert.deepEqual(await query(uri, "select count(*)::int as n from t"), [{ n: 2 }]);
});

test("each call for a missing or unfinished object is refused with the code that clients know", async () => {
  await provisioned("codes");
  const backupId = await backedUp("codes");
  const here = { instanceId: "codes", backupId };
  const nothing = "nobody";
  for (const call of [
    () => manager().createBackup(nothing),
    () => manager().listBackups(nothing),
    () => manager().getBackup({ instanceId: nothing, backupId }),
    () => manager().deleteBackup({ instanceId: nothing, backupId }),
    () => manager().createRestore({ instanceId: nothing, backupId }),
    () => manager().listRestores(nothing),
    () => manager().getRestore({ instanceId: nothing, restoreId: 1 }),
  ])
    await assert.rejects(call(), error(404, "InstanceNotFound", /^instance nobody does not exist$/));
  const far = { instanceId: "codes", backupId: 999_999 };
  for (const call of [
    () => manager().getBackup(far),
    () => manager().deleteBackup(far),
    () => manager().createRestore(far),
  ])
    await assert.rejects(call(), error(404, "NotFound", /^instance codes has no backup 999999$/));
  await provisioned("other");
  await assert.rejects(
    manager().createRestore({ instanceId: "other", backupId }),
    error(404, "NotFound", /has no backup/),
  );
  await assert.rejects(manager().getRestore({ instanceId: "codes", restoreId: 999_999 }), isGone);
  assert.equal((await manager().deleteBackup(here)).message, `backup ${backupId} is deleted`);
  assert.equal((await manager().deleteBackup(here)).message, `backup ${backupId} is deleted already`);
  assert.equal((await manager().getBackup(here)).state, "deleted");
  await assert.rejects(manager().createRestore(here), error(410, "Gone", /is deleted$/));
});

test("while a backup or restore runs, what would disturb it is refused, and the broker waits, too", async () => {
  await provisioned("busy");
  const uri = await bound("busy", "busy-1");
  const done = await backedUp("busy");
  const here = { instanceId: "busy", backupId: done };
  {
    using _backup = hold("backup running");
    const { backupId } = await manager().createBackup("busy");
    const running = { instanceId: "busy", backupId };
    await assert.rejects(manager().deleteBackup(running), isLocked);
    await assert.rejects(manager().createRestore(running), isNotRestorable);
  }
  {
    using _restore = hold("restore running");
    const { restoreId } = await manager().createRestore(here);
    await assert.rejects(
      manager().createRestore(here),
      error(409, "ConcurrencyError", /^A restore is already in progress\.$/),
    );
    await assert.rejects(manager().createRestore(here), isRestoreRunning);
    await assert.rejects(manager().createBackup("busy"), error(409, "ConcurrencyError", /is being restored/));
    await assert.rejects(manager().deleteBackup(here), isLocked);
    const ids = { ...nano, instanceId: "busy" };
    for (const call of [
      () => fixture.osb.bind({ ...ids, bindingId: "busy-2" }),
      () => fixture.osb.unbind({ ...ids, bindingId: "busy-1" }),
      () => fixture.osb.update({ ...ids, parameters: { work_mem: "8MB" } }),
      () => fixture.osb.deprovision(ids),
    ])
      await assert.rejects(call(), /another operation on instance busy is in progress/);
    const { state } = await manager().getRestore({ instanceId: "busy", restoreId });
    assert.ok(["queued", "running"].includes(state), state);
  }
  await waitFor("the restore", async () =>
    (await manager().listRestores("busy")).every(({ state }) => state === "done"),
  );
  await query(uri, "select 1");
});

test("an instance that is not ready is not backed up, and the words say why", async () => {
  await provisioned("young");
  await query(
    fixture.adminOf(adminDatabase),
    "update public.instances set state = 'in progress' where id = 'young'",
  );
  await assert.rejects(
    manager().createBackup("young"),
    error(422, "InvalidStatusError", /^instance young is not ready: provision is running$/),
  );
  await query(
    fixture.adminOf(adminDatabase),
    "update public.instances set state = 'failed', description = '' where id = 'young'",
  );
  await assert.rejects(
    manager().createBackup("young"),
    error(422, "InvalidStatusError", /^instance young is not ready: provision failed$/),
  );
});

test("wrong input is refused with what would be right", async () => {
  await provisioned("input");
  const headers = {
    authorization: `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString("base64")}`,
  };
  const url = `${fixture.brokerUrl}/backup-manager`;
  const answer = async (method: string, path: string, body?: string): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    return [response.status, await response.json()];
  };
  const bad = (description: string): unknown => [400, { error: "BadRequest", description }];
  for (const id of ["x", "0", "-1", "1.5", "99999999999999999"])
    assert.deepEqual(
      await answer("GET", `/instances/input/backups/${id}`),
      bad("the backup id must be a whole number from 1 to 9007199254740991"),
      id,
    );
  assert.deepEqual(
    (await fetch(`${url}/instances/input/backups`)).status,
    401,
    "an answer without credentials",
  );
  assert.deepEqual(await answer("PATCH", "/instances/input"), [
    404,
    { error: "NotFound", description: "no such path: PATCH /backup-manager/instances/input" },
  ]);
  await manager().checkHealth();
  await manager().checkHealth("/v2/healthy");
});

test("a file that cannot be deleted is an error, and the backup counts as before", async () => {
  await provisioned("stuck");
  const backupId = await backedUp("stuck");
  const here = { instanceId: "stuck", backupId };
  const path = join(folder, `${backupId}.backup`);
  const bytes = await readFile(path);
  // Removing it as a file fails.
  await rm(path);
  await mkdir(path);
  await assert.rejects(
    manager().deleteBackup(here),
    error(400, "BackupFileDeletionFailed", /could not be deleted/),
  );
  assert.equal((await manager().getBackup(here)).state, "done");
  await rm(path, { recursive: true });
  await writeFile(path, bytes);
  await restored("stuck", backupId);
  await manager().deleteBackup(here);
});

test("an expired backup is deleted with its file, but not the newest ones, and an instance takes its backups along", async () => {
  await provisioned("old");
  const ids = [await backedUp("old"), await backedUp("old"), await backedUp("old")];
  await query(
    fixture.adminOf(adminDatabase),
    "update public.backups set finished_at = now() - interval '15 days' where instance_id = 'old'",
  );
  await fixture.restart();
  await waitFor("the retention", async () => {
    const states = (await manager().listBackups("old")).map(({ state }) => state);
    return states.join(" ") === "deleted deleted done";
  });
  const files = async (): Promise<readonly string[]> =>
    (await readdir(folder)).filter((name) => ids.some((id) => name.startsWith(`${id}.`)));
  assert.deepEqual(await files(), [`${ids[2]}.backup`]);
  // Records of deleted backups do not grow for ever.
  await query(
    fixture.adminOf(adminDatabase),
    `update public.backups set finished_at = now() - interval '105 days' where id = ${ids[0]}`,
  );
  await fixture.restart();
  const remembered = async (): Promise<readonly number[]> =>
    (await manager().listBackups("old")).map(({ id }) => id);
  await waitFor("the record to be gone", async () => (await remembered()).length === 2);
  assert.deepEqual(await remembered(), ids.slice(1));
  await fixture.deprovisioned("old");
  assert.deepEqual(await files(), []);
  await assert.rejects(manager().listBackups("old"), isGone);
});

test("an instance is deprovisioned in the middle of its backup, and nothing of it is left", async () => {
  await provisioned("cut");
  let id = 0;
  {
    using _backup = hold("backup written");
    ({ backupId: id } = await manager().createBackup("cut"));
    await waitFor("the file", async () => (await readdir(folder)).includes(`${id}.partial`));
    await fixture.osb.deprovision({ ...nano, instanceId: "cut" });
  }
  await waitFor("the instance to be gone", async () =>
    fixture.osb.lastOperation({ instanceId: "cut" }).then(
      () => false,
      () => true,
    ),
  );
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith(`${id}.`)),
    [],
  );
});

test("if pg_dump is missing, a backup is refused with the packages to install, and everything else goes on", async () => {
  await using without = await startBackupFixture({ postgresPrograms: "/nowhere" });
  await without.fixture.provisioned("plain");
  await query(await without.fixture.bound("plain", "plain-1"), "select 1");
  const words =
    /^PostgreSQL cannot be backed up or restored here: pg_dump and pg_restore are missing; install /;
  await assert.rejects(without.manager().createBackup("plain"), error(422, "NotPossible", words));
  assert.deepEqual(await without.manager().listBackups("plain"), []);
  await without.fixture.deprovisioned("plain");
});

/** The API's clients do not read it; people do. */
async function messageOf(instanceId: string, restoreId: number): Promise<string> {
  const rows = await query(
    fixture.adminOf(adminDatabase),
    `select message from public.restores where instance_id = '${instanceId}' and id = ${restoreId}`,
  );
  return JSON.stringify(rows);
}
