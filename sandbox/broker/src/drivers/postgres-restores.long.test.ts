/** Backups and restores of PostgreSQL databases, without the backup manager around them. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { silentLogger } from "@klutch/telemetry";
import { openDatabase, Store } from "../store.ts";
import * as dumps from "../testing/dumps.ts";
import { databaseOf, login, nano, query, startFixture, userOf } from "../testing/fixture.ts";
import { PostgresDriver } from "./postgres.ts";

const fixture = await startFixture();
after(() => fixture[Symbol.asyncDispose]());
const { provisioned, bound, unbind, deprovisioned, adminUrl, adminOf } = fixture;
const url = new URL(adminUrl);
const { secretKey, postgresPrograms: folder, postgresLibraries: libraries } = fixture.config;
assert.ok(folder !== undefined, "this machine has no pg_dump");
const driver = new PostgresDriver({ url, secretKey, programs: { folder, libraries } });
const queries = await openDatabase(url, silentLogger);
after(() => queries[Symbol.asyncDispose]());

async function instance(id: string): Promise<Parameters<typeof dumps.dump>[1]> {
  const found = await new Store(queries).instance(id);
  assert.ok(found !== undefined, id);
  return found;
}

async function dump(id: string): Promise<Buffer> {
  return dumps.dump(driver, await instance(id));
}

async function restore(id: string, whole: Buffer, token: string, signal?: AbortSignal): Promise<void> {
  const options = signal === undefined ? { token } : { token, signal };
  await dumps.restore(driver, await instance(id), whole, options);
}

/** Lists databases and roles that a restore created for itself and did not remove. */
const leftovers = (): Promise<unknown> =>
  query(
    adminUrl,
    `select datname as name from pg_database where datname ~ '^i[0-9a-f]{32}_'
     union all select rolname from pg_roles where rolname ~ '^b[0-9a-f]{32}$'`,
  );

test("everything of a tenant comes back: rows, sequences, types, extensions, large objects, and what a login made under its own name", async () => {
  await provisioned("all");
  const uri = await bound("all", "all-1");
  await query(
    uri,
    "create extension hstore",
    "create type mood as enum ('good', 'bad')",
    "create schema app",
    `create table app."t 'x" (id serial primary key, m mood not null, h hstore, at timestamptz default now())`,
    `insert into app."t 'x" (m, h) select 'good', 'a=>1' from generate_series(1, 1000)`,
    `create view app.v as select count(*) as n from app."t 'x"`,
    "create function app.twice(int) returns int language sql as 'select $1 * 2'",
    "select lo_from_bytea(4711, '\\xcafe'), lo_from_bytea(4712, repeat('x', 300000)::bytea)",
    "create table hidden (a int)",
    "alter table hidden enable row level security",
    "alter table hidden force row level security",
    "set role none",
    "create schema mine",
    "create table mine.own (a int)",
    "insert into mine.own values (7)",
    "comment on table mine.own is 'it''s'",
  );
  await query(adminOf(databaseOf(uri)), "set row_security = off", "insert into public.hidden values (1)");
  const whole = await dump("all");
  await query(
    uri,
    "drop schema app cascade",
    "drop extension hstore cascade",
    "drop type mood",
    "select lo_unlink(4711), lo_unlink(4712)",
    "create table later (a int)",
    "set role none",
    "drop schema mine cascade",
  );
  await restore("all", whole, "1");
  assert.deepEqual(
    await query(
      uri,
      `select (select n from app.v)::int as n, app.twice(4) as twice, (select last_value from app."t 'x_id_seq")::int as last,
         encode(lo_get(4711), 'hex') as small, length(lo_get(4712)) as large, (select a from mine.own) as own,
         obj_description('mine.own'::regclass) as said, to_regclass('later') as later`,
    ),
    [
      {
        n: 1000,
        twice: 8,
        last: 1000,
        small: "cafe",
        large: 300000,
        own: 7,
        said: "it's",
        later: null,
      },
    ],
  );
  assert.deepEqual(await query(adminOf(databaseOf(uri)), "select a from public.hidden"), [{ a: 1 }]);
  assert.deepEqual(await leftovers(), []);
});

test("a binding keeps its password, its rights and its limits, one that came after the backup as well", async () => {
  await provisioned("kept");
  const first = await bound("kept", "kept-1");
  const gone = await bound("kept", "kept-gone");
  await query(
    first,
    "create table t (a int)",
    `grant select on t to "${userOf(gone)}"`,
    "insert into t values (1)",
  );
  const whole = await dump("kept");
  await unbind("kept", "kept-gone");
  const second = await bound("kept", "kept-2");
  await query(second, "insert into t values (2)");
  await restore("kept", whole, "2");
  const owner = `o${databaseOf(first).slice(1)}`;
  for (const uri of [first, second]) {
    assert.deepEqual(await query(uri, "select current_user as name, a from t"), [{ name: owner, a: 1 }]);
    await query(
      uri,
      "alter table t add column if not exists b int",
      "create table if not exists made (a int)",
    );
    await assert.rejects(query(uri, "alter database current_database() connection limit 99"));
  }
  const limits = `select datconnlimit as sessions, pg_get_userbyid(datdba) as owner from pg_database where datname = '${databaseOf(first)}'`;
  assert.deepEqual(await query(adminUrl, limits), [{ sessions: 10, owner: "postgres" }]);
  assert.deepEqual(await query(first, "show temp_file_limit"), [{ temp_file_limit: "1000MB" }]);
  await assert.rejects(query(gone, "select 1"));
  await unbind("kept", "kept-2");
  await deprovisioned("kept");
});

test("code of the tenant's runs in a restore with the tenant's rights and no others", async () => {
  await provisioned("hostile");
  const uri = await bound("hostile", "hostile-1");
  const owner = `o${databaseOf(uri).slice(1)}`;
  await query(
    uri,
    "create table seen (session text, acting text, gained text)",
    `create function evil(int) returns boolean language plpgsql volatile as $$
       declare attempt text; gained text := '';
       begin
         foreach attempt in array array[
           'alter role "${owner}" superuser', 'create role evil login', 'grant pg_execute_server_program to "${owner}"',
           'copy (select 1) to program ''true''', 'select rolpassword from pg_catalog.pg_authid limit 1',
           'alter database "${databaseOf(uri)}" connection limit 99', 'set session authorization postgres',
           'select pg_catalog.pg_read_file(''PG_VERSION'')', 'alter role current_user bypassrls'] loop
           begin
             perform pg_catalog.set_config('role', 'none', false);
             execute attempt;
             gained := gained || attempt || ';';
           exception when others then null;
           end;
         end loop;
         -- What the restore makes from here on is made by the session's own user.
         perform pg_catalog.set_config('role', 'none', false);
         insert into public.seen values (session_user, current_user, gained);
         return true;
       end $$`,
    "create table trap (a int check (public.evil(a)))",
    "create index made_after on seen (session)",
    "create view made_later as select a from trap",
    "insert into trap values (1)",
    "truncate seen",
  );
  const whole = await dump("hostile");
  assert.deepEqual(await query(uri, "select * from seen"), [], "the dump ran it");
  await restore("hostile", whole, "3");
  const guest = `b${databaseOf(uri).slice(1)}`;
  assert.deepEqual(await query(uri, "select distinct * from seen"), [
    { session: guest, acting: guest, gained: "" },
  ]);
  assert.deepEqual(await query(adminUrl, "select rolname from pg_roles where rolsuper"), [
    { rolname: "postgres" },
  ]);
  assert.deepEqual(await leftovers(), []);
});

test("a restore that fails leaves the old rows, the sessions and nothing else", async () => {
  await provisioned("whole");
  const uri = await bound("whole", "whole-1");
  await query(
    uri,
    "create table t (a text)",
    "insert into t select md5(i::text) from generate_series(1, 5000) i",
  );
  const whole = await dump("whole");
  await query(uri, "delete from t", "insert into t values ('new')");
  await using session = await login(uri);
  const broken = [
    Buffer.alloc(0),
    Buffer.from("<html>no dump</html>"),
    whole.subarray(0, whole.length / 2),
    whole.subarray(0, whole.length - 30),
  ];
  for (const [index, half] of broken.entries())
    await assert.rejects(restore("whole", half, `broken-${index}`), /pg_restore failed: /);
  await assert.rejects(
    restore("whole", whole, "stopped", AbortSignal.abort(new Error("stopped"))),
    /stopped/,
  );
  const { rows } = await session.query("select a from t");
  assert.deepEqual(rows, [{ a: "new" }]);
  assert.deepEqual(await leftovers(), []);
});

test("a restore that is repeated by its name does nothing, so that later rows stay", async () => {
  await provisioned("twice");
  const uri = await bound("twice", "twice-1");
  await query(uri, "create table t (a int)", "insert into t values (1)");
  const whole = await dump("twice");
  await restore("twice", whole, "same");
  await query(uri, "insert into t values (2)");
  await restore("twice", whole, "same");
  assert.deepEqual(await query(uri, "select a from t order by a"), [{ a: 1 }, { a: 2 }]);
  await restore("twice", whole, "another");
  assert.deepEqual(await query(uri, "select a from t order by a"), [{ a: 1 }]);
});

test("a tenant that uses all its sessions and holds a transaction open is backed up and restored", async () => {
  await provisioned("full");
  const uri = await bound("full", "full-1");
  await query(uri, "create table t (a int)", "insert into t values (1)");
  await using stack = new AsyncDisposableStack();
  const sessions = await Promise.all(Array.from({ length: 10 }, () => login(uri)));
  for (const session of sessions) {
    stack.use(session);
    await session.query("begin");
    await session.query("insert into t values (2)");
  }
  await restore("full", await dump("full"), "full");
  assert.deepEqual(await query(uri, "select a from t"), [{ a: 1 }]);
  await assert.rejects(sessions[0]?.query("select 1") ?? Promise.resolve());
});

test("a time limit that a tenant chose for its own statements ends no backup and no restore", async () => {
  await provisioned("hasty");
  const uri = await bound("hasty", "hasty-1");
  // The limit is the database's, so it ends a session of this test, too, unless the session says otherwise from its beginning.
  const inside = `${adminOf(databaseOf(uri))}?options=${encodeURIComponent("-c statement_timeout=0 -c idle_in_transaction_session_timeout=0")}`;
  await query(uri, "create table t as select generate_series(1, 50000) as a");
  const parameters = { statement_timeout: 1, idle_in_transaction_session_timeout: 1 };
  await fixture.osb.update({ ...nano, instanceId: "hasty", parameters });
  await fixture.finished("hasty");
  const whole = await dump("hasty");
  await query(inside, "delete from public.t");
  await restore("hasty", whole, "hasty");
  assert.deepEqual(await query(inside, "select count(*)::int as n from public.t"), [{ n: 50000 }]);
  const kept = `select array_to_string(setconfig, ' ') as kept from pg_db_role_setting join pg_database on oid = setdatabase
    where setrole = 0 and datname = '${databaseOf(uri)}'`;
  assert.match(JSON.stringify(await query(adminUrl, kept)), /statement_timeout=1\b/);
});

test("leftovers of a killed restore are gone after the next one", async () => {
  await provisioned("left");
  const uri = await bound("left", "left-1");
  await query(uri, "create table t (a int)");
  const name = databaseOf(uri);
  const keeper = `b${name.slice(1)}`;
  await query(adminUrl, `create database ${name}_staging`, `create database ${name}_retired`);
  await query(adminUrl, `create role ${keeper} login password 'x' in role o${name.slice(1)}`);
  const guestUri = adminOf(`${name}_staging`).replace("postgres:postgres@", `${keeper}:x@`);
  await using guest = await login(guestUri);
  await restore("left", await dump("left"), "left");
  await assert.rejects(guest.query("select 1"));
  assert.deepEqual(await leftovers(), []);
  await query(uri, "select a from t");
});

test("without pg_dump the driver says what to install, and the instance goes on", async () => {
  const without = new PostgresDriver({ url, secretKey, programs: undefined });
  const sentence = /^PostgreSQL cannot be backed up or restored here: .* install the package postgresql-15/;
  assert.match(without.obstacle ?? "", sentence);
  assert.equal(driver.obstacle, undefined);
  await provisioned("without");
  const uri = await bound("without", "without-1");
  await assert.rejects(dumps.dump(without, await instance("without")), { message: sentence });
  await query(uri, "select 1");
});
