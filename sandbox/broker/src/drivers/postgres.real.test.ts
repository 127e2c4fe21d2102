/** A tenant with a login of its own database does what it can to others, to the broker and to the server. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { silentLogger } from "@klutch/telemetry";
import { startBroker } from "../broker.ts";
import {
  databaseOf,
  inDatabase,
  login,
  nano,
  planOf,
  query,
  startFixture,
  userOf,
} from "../testing/fixture.ts";

const fixture = await startFixture();
after(() => fixture[Symbol.asyncDispose]());
const { provisioned, bound, unbind, deprovisioned, adminUrl } = fixture;

test("a tenant gets into no other database of the server, template1 least of all", async () => {
  await provisioned("doors");
  const uri = await bound("doors", "doors-1");
  for (const name of ["template1", "template0", "postgres", "klutch_broker"])
    await assert.rejects(
      query(inDatabase(uri, name), "select 1"),
      /permission denied|not currently accepting/,
    );
});

test("databases are made while somebody is in template1", async () => {
  await using _session = await login(inDatabase(adminUrl, "template1"));
  await provisioned("template");
  await query(await bound("template", "template-1"), "select 1");
});

test("a tenant cannot change its database or its login: no limit, no setting, no template, no owner", async () => {
  await provisioned("alter");
  const uri = await bound("alter", "alter-1");
  const name = `"${databaseOf(uri)}"`;
  for (const statement of [
    `alter database ${name} connection limit -1`,
    `alter database ${name} set default_transaction_read_only to on`,
    `alter database ${name} reset all`,
    `alter database ${name} is_template true`,
    `alter database ${name} rename to stolen`,
    `alter database ${name} owner to current_user`,
    `drop database ${name}`,
    "alter role current_user connection limit -1",
    "alter role current_user superuser",
    "set temp_file_limit to -1",
    "create publication everything for all tables",
    "create subscription s connection '' publication p with (connect = false)",
    "select pg_read_file('PG_VERSION')",
    "copy (select 1) to program 'true'",
  ])
    await assert.rejects(query(uri, statement), /must be|permission denied/, statement);
});

test("a tenant cannot let others into its database", async () => {
  for (const id of ["host", "guest"]) await provisioned(id);
  const host = await bound("host", "host-1");
  const guest = await bound("guest", "guest-1");
  // PostgreSQL only warns a login that has no right to grant.
  for (const whom of [`"${userOf(guest)}"`, "public"])
    await query(host, `grant connect on database "${databaseOf(host)}" to ${whom}`);
  await assert.rejects(query(inDatabase(guest, databaseOf(host)), "select 1"), /permission denied/);
});

test("a tenant has no more sessions at once than its plan, whatever it says", async () => {
  await provisioned("many");
  const uri = await bound("many", "many-1");
  await query(uri, `alter database "${databaseOf(uri)}" connection limit -1`).catch(() => undefined);
  await using stack = new AsyncDisposableStack();
  const logins = await Promise.allSettled(
    Array.from({ length: 30 }, async () => stack.use(await login(uri))),
  );
  assert.equal(logins.filter(({ status }) => status === "fulfilled").length, 10);
});

test("a tenant still makes schemas, tables, types, functions and trusted extensions, and owns its public schema", async () => {
  await provisioned("free");
  const first = await bound("free", "free-1");
  await query(
    first,
    "create schema app",
    "create table app.t (a int)",
    "create table t (a int)",
    "create type mood as enum ('good')",
    "create function one() returns int language sql as 'select 1'",
    "create temporary table x (a int)",
    "comment on schema public is 'ours'",
    "create extension if not exists plpgsql",
    "create publication mine for table t",
  );
  await query(await bound("free", "free-2"), "insert into app.t values (1)", "drop schema public cascade");
  await fixture.osb.update({ ...planOf("postgresql-single-small"), instanceId: "free" });
  await fixture.finished("free");
  await query(first, "select a from app.t", "create schema public", "create table t (a int)");
});

test("unbinding ends a tenant whose settings would break every session of its database", async () => {
  await provisioned("settings");
  const uri = await bound("settings", "settings-1");
  const name = `"${databaseOf(uri)}"`;
  for (const setting of [
    "default_transaction_read_only to on",
    "statement_timeout to 1",
    "search_path to nowhere",
    "local_preload_libraries to 'nothing-there'",
  ]) {
    await query(uri, `alter database ${name} set ${setting}`).catch(() => undefined);
    await query(uri, "set role none", `alter role current_user set ${setting}`).catch(() => undefined);
  }
  await unbind("settings", "settings-1");
  await assert.rejects(query(uri, "select 1"));
  await deprovisioned("settings");
});

test("binding again repairs what a tenant did to its own login", async () => {
  await provisioned("mend");
  const uri = await bound("mend", "mend-1");
  await query(
    uri,
    "set role none",
    "alter role current_user set default_transaction_read_only to on",
    `alter role current_user in database "${databaseOf(uri)}" set role to none`,
    "alter role current_user password 'mine'",
  );
  await assert.rejects(query(uri, "select 1"), /authentication failed/);
  assert.equal(await bound("mend", "mend-1"), uri);
  await query(uri, "create table t (a int)");
});

test("a tenant's grants to another tenant's login do not prevent unbinding or deprovisioning", async () => {
  for (const id of ["granter", "victim"]) await provisioned(id);
  const granter = await bound("granter", "granter-1");
  const victim = await bound("victim", "victim-1");
  const victimOwner = `o${databaseOf(victim).slice(1)}`;
  for (const role of [userOf(victim), victimOwner])
    await query(
      granter,
      "create table if not exists t (a int)",
      `grant select on t to "${role}"`,
      `alter default privileges grant select on tables to "${role}"`,
      `create policy "p${role}" on t to "${role}"`,
    );
  await unbind("victim", "victim-1");
  await deprovisioned("victim");
  assert.deepEqual(
    await query(
      adminUrl,
      `select rolname from pg_roles where rolname in ('${userOf(victim)}', '${victimOwner}')`,
    ),
    [],
  );
});

test("the server's log never shows a binding's password, whatever the server logs", async () => {
  await query(adminUrl, "alter system set log_statement to 'all'");
  await query(adminUrl, "select pg_reload_conf()");
  await provisioned("quiet");
  const uri = await bound("quiet", "quiet-1");
  await query(uri, "select 'the tenant was here'");
  const log = await readFile(fixture.serverLog, "utf8");
  assert.ok(log.includes("the tenant was here"));
  assert.ok(!log.includes(new URL(uri).password));
  await query(adminUrl, "alter system reset log_statement");
  await query(adminUrl, "select pg_reload_conf()");
});

test("a database that is gone from the server is not made again, empty, when the broker starts", async () => {
  await provisioned("gone");
  const uri = await bound("gone", "gone-1");
  await query(adminUrl, `drop database "${databaseOf(uri)}" with (force)`);
  await fixture.restart();
  assert.deepEqual(
    await query(adminUrl, `select 1 from pg_database where datname = '${databaseOf(uri)}'`),
    [],
  );
});

test("temporary files of a session are limited by the plan, whatever the parameter says", async () => {
  await provisioned("files");
  const uri = await bound("files", "files-1");
  for (const [wanted, shown] of [
    [-1, "1000MB"],
    [2_000_000_000, "1000MB"],
    [2048, "2MB"],
  ] as const) {
    await fixture.osb.update({ ...nano, instanceId: "files", parameters: { temp_file_limit: wanted } });
    await fixture.finished("files");
    assert.deepEqual(await query(uri, "show temp_file_limit"), [{ temp_file_limit: shown }]);
  }
});

test("the state of an older broker is refused with what to do, and is not changed", async () => {
  const own = inDatabase(adminUrl, "klutch_broker");
  await query(own, "comment on schema public is 'klutch broker 1'");
  const refused = startBroker(fixture.config, silentLogger);
  await assert.rejects(refused, /made by an older broker.*`npm run sandbox -- --reset`/);
  await query(own, "comment on schema public is 'klutch broker 2'");
  await fixture.restart();
  await query(await bound("doors", "doors-2"), "select 1");
});
