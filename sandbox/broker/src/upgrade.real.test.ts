/** Servers and databases as an older broker, a careless operator or a busy attacker left them. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startPostgres } from "@klutch/engines";
import { silentLogger } from "@klutch/telemetry";
import { startBroker } from "./broker.ts";
import { databaseOf, inDatabase, login, nano, query, startWorld, userOf } from "./testing/world.ts";

const world = await startWorld();
after(() => world[Symbol.asyncDispose]());
const { provisioned, bound, unbind, deprovisioned, adminUrl } = world;

/** As the first broker made it: the tenant's owner role owns the database. */
async function makeOld(uri: string): Promise<void> {
  const name = `"${databaseOf(uri)}"`;
  const owner = `"o${databaseOf(uri).slice(1)}"`;
  await query(adminUrl, `alter database ${name} owner to ${owner}`);
  await query(world.adminOf(databaseOf(uri)), "alter schema public owner to pg_database_owner");
}

async function ownerOf(uri: string): Promise<unknown> {
  return query(
    adminUrl,
    `select pg_get_userbyid(datdba) as owner, datconnlimit as limit from pg_database where datname = '${databaseOf(uri)}'`,
  );
}

test("a database of an older broker is the broker's after the next start, with its data, limits, settings and logins", async () => {
  for (const id of ["old", "guest"]) await provisioned(id);
  await world.osb.update({ ...nano, instanceId: "old", parameters: { work_mem: "6MB" } });
  await world.finished("old");
  const uri = await bound("old", "old-1");
  const guest = await bound("guest", "guest-1");
  const name = `"${databaseOf(uri)}"`;
  await query(uri, "create table t (a int)", "insert into t values (1)");
  await makeOld(uri);
  await query(
    uri,
    `alter database ${name} connection limit -1`,
    `alter database ${name} set search_path to nowhere`,
    `grant connect on database ${name} to "${userOf(guest)}" with grant option`,
    `grant connect on database ${name} to public`,
  );
  await query(adminUrl, "grant connect on database template1 to public");
  await query(inDatabase(guest, databaseOf(uri)), "select 1");
  await using inTemplate = await login(inDatabase(uri, "template1"));
  await world.restart();
  assert.deepEqual(await ownerOf(uri), [{ owner: "postgres", limit: 10 }]);
  await assert.rejects(inTemplate.query("select 1"));
  await assert.rejects(query(inDatabase(guest, databaseOf(uri)), "select 1"), /permission denied/);
  await assert.rejects(query(inDatabase(guest, "template1"), "select 1"), /permission denied/);
  assert.deepEqual(
    await query(
      uri,
      "insert into t values (2)",
      "create table more (a int)",
      "select sum(a)::int as sum, current_setting('work_mem') as memory from t",
    ),
    [{ sum: 3, memory: "6MB" }],
  );
  await unbind("old", "old-1");
  await deprovisioned("old");
});

test("unbinding gets into a database whose old owner set a role, a library or an identity for every session in it", async () => {
  await provisioned("trap");
  const uri = await bound("trap", "trap-1");
  await query(uri, "set role none", "create table mine (a int)");
  await makeOld(uri);
  const name = `"${databaseOf(uri)}"`;
  const owner = `o${databaseOf(uri).slice(1)}`;
  await query(
    uri,
    `alter database ${name} set session_authorization to '${owner}'`,
    `alter database ${name} set role to '${owner}'`,
    `alter database ${name} set idle_session_timeout to 1`,
    `alter database ${name} set local_preload_libraries to 'nothing-there'`,
  );
  await unbind("trap", "trap-1");
  await assert.rejects(query(uri, "select 1"));
});

test("what a tenant left in template1 keeps nobody from unbinding it and gets into no new database", async () => {
  await provisioned("left");
  const uri = await bound("left", "left-1");
  await query(adminUrl, "grant connect on database template1 to public");
  await query(inDatabase(uri, "template1"), "select lo_create(4711)");
  await provisioned("later");
  assert.deepEqual(
    await query(await bound("later", "later-1"), "select oid from pg_largeobject_metadata"),
    [],
  );
  await unbind("left", "left-1");
  await deprovisioned("left");
});

test("a tenant that grants again and again, as fast as it can, keeps nobody from unbinding", async () => {
  for (const id of ["busy", "calm"]) await provisioned(id);
  const busy = await bound("busy", "busy-1");
  const victim = userOf(await bound("calm", "calm-1"));
  await query(busy, "create table t (a int)");
  const stop = new AbortController();
  const attack = async (): Promise<void> => {
    while (!stop.signal.aborted)
      await query(busy, ...Array.from({ length: 50 }, () => `grant select on t to "${victim}"`)).catch(
        () => undefined,
      );
  };
  const attacks = [attack(), attack(), attack()];
  await unbind("calm", "calm-1");
  stop.abort();
  await Promise.all(attacks);
  assert.deepEqual(await query(adminUrl, `select 1 from pg_roles where rolname = '${victim}'`), []);
});

test("a tenant that changes its password again and again cannot keep its login", async () => {
  await provisioned("stubborn");
  const uri = await bound("stubborn", "stubborn-1");
  const stop = new AbortController();
  const attack = async (): Promise<void> => {
    const change = `alter role current_user password '${new URL(uri).password}'`;
    while (!stop.signal.aborted)
      await query(uri, "set role none", ...Array.from({ length: 100 }, () => change)).catch(() => undefined);
  };
  const attacks = [attack(), attack(), attack()];
  await unbind("stubborn", "stubborn-1");
  stop.abort();
  await Promise.all(attacks);
  await assert.rejects(query(uri, "select 1"), /authentication failed/);
});

test("a database that is gone from the server is not made again, empty, when the broker starts", async () => {
  await provisioned("gone");
  const uri = await bound("gone", "gone-1");
  await query(adminUrl, `drop database "${databaseOf(uri)}" with (force)`);
  await world.restart();
  assert.deepEqual(await ownerOf(uri), []);
});

test("temporary files of a session are limited by the plan, whatever the parameter says", async () => {
  await provisioned("files");
  const uri = await bound("files", "files-1");
  for (const [wanted, shown] of [
    [-1, "1000MB"],
    [2_000_000_000, "1000MB"],
    [2048, "2MB"],
  ] as const) {
    await world.osb.update({ ...nano, instanceId: "files", parameters: { temp_file_limit: wanted } });
    await world.finished("files");
    assert.deepEqual(await query(uri, "show temp_file_limit"), [{ temp_file_limit: shown }]);
  }
});

test("the broker refuses a server with prepared transactions, because nobody could end what they hold", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "klutch-broker-"));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  {
    await using first = await startPostgres({ dataDir });
    await query(first.url, "alter system set max_prepared_transactions to 5");
  }
  await using server = await startPostgres({ dataDir });
  await assert.rejects(
    startBroker(
      {
        host: "127.0.0.1",
        port: 0,
        postgresUrl: server.url,
        username: "u",
        password: "p",
        secretKey: "0123456789abcdef0123456789abcdef",
      },
      silentLogger,
    ),
    /max_prepared_transactions of the PostgreSQL server is 5, but must be 0/,
  );
});
