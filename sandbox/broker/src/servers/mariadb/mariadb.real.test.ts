/** MariaDB servers, with tenants that work in them and some that mean harm. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { waitFor } from "@klutch/kube-testing";
import { bindingOf, instanceOf, openFolder, serversIn, sql } from "../../testing/servers.ts";

const folder = await openFolder();
const servers = await serversIn(folder.path);
after(async () => {
  await servers[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const { mariadb } = servers;
assert.ok(mariadb !== undefined);

const plan = "mariadb-single-nano-ssl";

async function pidOf(instanceId: string): Promise<number> {
  const text = await readFile(join(mariadb?.homeOf(instanceId) ?? "", "process.json"), "utf8");
  return (JSON.parse(text) as { readonly pid: number }).pid;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a binding has the keys that applications read, and works by TLS only, with the server's authority", async () => {
  const instance = instanceOf("keys", plan);
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "keys-1"), instance);
  assert.deepEqual(Object.keys(credentials).toSorted(), [
    "cacrt",
    "host",
    "hosts",
    "name",
    "password",
    "port",
    "uri",
    "username",
  ]);
  assert.deepEqual(await sql(credentials, "select 1"), ["1"]);
  await assert.rejects(sql(credentials, "select 1", { tls: false }), /secure transport|Access denied/);
  assert.deepEqual(await mariadb.bind(bindingOf(instance, "keys-1"), instance), credentials);
});

test("two bindings work on the same data, and the end of one ends its sessions and nothing of the other", async () => {
  const instance = instanceOf("two", plan);
  await mariadb.ensure(instance);
  const [one, two] = ["two-1", "two-2"].map((id) => bindingOf(instance, id));
  assert.ok(one !== undefined && two !== undefined);
  const first = await mariadb.bind(one, instance);
  const second = await mariadb.bind(two, instance);
  await sql(
    first,
    "create table t (a int primary key); insert into t values (42); create view v as select a from t;",
  );
  const asleep = assert.rejects(sql(first, "select sleep(60)"), /ERROR (2026|2013|2006|1317|1927)/);
  await waitFor("the session to sleep", async () => {
    const rows = await mariadb
      .serverOf("two")
      .use((session) =>
        session.run("select count(*) from information_schema.processlist where state = 'User sleep'"),
      );
    return rows[0]?.[0] === "1";
  });
  await mariadb.unbind(one);
  await asleep;
  await assert.rejects(sql(first, "select 1"), /Access denied|account is locked/);
  // What acts in its name still does.
  assert.deepEqual(await sql(second, "select a from v; insert into t values (43)"), ["42"]);
  await mariadb.unbind(one);
  await sql(second, "drop view v");
  await mariadb.bind(one, instance);
  await mariadb.unbind(one);
  const left = await mariadb
    .serverOf("two")
    .use((session) => session.run("select user from mysql.user where host = '%'"));
  assert.equal(left.length, 1);
});

test("a tenant gets neither at the server nor at files, other accounts, or another instance", async () => {
  const instance = instanceOf("hostile", plan);
  const other = instanceOf("other", plan);
  await Promise.all([mariadb.ensure(instance), mariadb.ensure(other)]);
  const credentials = await mariadb.bind(bindingOf(instance, "hostile-1"), instance);
  const theirs = await mariadb.bind(bindingOf(other, "other-1"), other);
  const key = join(mariadb.homeOf("other"), "server.key");
  const loaded = await sql(
    credentials,
    `select load_file('/etc/passwd') is null, load_file('${key}') is null`,
  );
  assert.deepEqual(loaded, ["1\t1"]);
  for (const statement of [
    "select 1 into outfile '/tmp/x'",
    "select 1 into dumpfile '/tmp/x'",
    "load data infile '/etc/passwd' into table t",
    "create table t (a int) engine=MyISAM",
    "create database mine",
    "create user u identified by 'x'",
    "grant all on *.* to current_user",
    "set global max_connections = 1000",
    "set global init_connect = 'x'",
    "install soname 'file_key_management'",
    "create function f returns string soname 'x.so'",
    "select * from mysql.global_priv",
    "shutdown",
    "kill 1",
    "set password for 'klutch'@'localhost' = password('x')",
    "change master to master_host = '127.0.0.1'",
    "create definer = 'klutch'@'localhost' view v as select 1",
    "flush tables with read lock",
    "drop database mysql",
  ])
    await assert.rejects(sql(credentials, statement), /ERROR \d+/, statement);
  // The server leaves such folders out.
  await sql(credentials, `create table d (a int) data directory '${folder.path}'`);
  assert.deepEqual(await readdir(folder.path), ["servers"]);
  for (const field of ["port", "name"])
    await assert.rejects(sql({ ...credentials, [field]: theirs[field] }, "select 1"), /Access denied/);
  assert.deepEqual(
    await sql(credentials, "show databases"),
    [String(credentials["name"]), "information_schema"].toSorted(),
  );
});

test("a plan's connections are all that there are, and the broker still gets in", async () => {
  const instance = instanceOf("many", plan);
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "many-1"), instance);
  const sessions = Array.from({ length: 16 }, () => sql(credentials, "select sleep(60)").catch(String));
  const refused = await Promise.race(sessions);
  assert.match(String(refused), /max_user_connections|Too many connections/);
  await mariadb.unbind(bindingOf(instance, "many-1"));
  assert.equal((await Promise.all(sessions)).length, 16);
});

test("a plan's memory is all that there is: what wants more fails, and the server runs or comes back", async () => {
  const instance = instanceOf("memory", plan);
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "memory-1"), instance);
  await sql(credentials, "create table t (a int primary key); insert into t values (7)");
  const greedy =
    "set session max_session_mem_used = 18446744073709551615, tmp_table_size = 17179869184, max_heap_table_size = 17179869184, sort_buffer_size = 17179869184;" +
    "select count(distinct a.seq, b.seq) from seq_1_to_10000 a, seq_1_to_10000 b;";
  const limits = await readFile(`/proc/${await pidOf("memory")}/limits`, "utf8");
  assert.match(limits, new RegExp(`Max data size +${256 * 1024 * 1024} `));
  await sql(credentials, greedy).catch(() => undefined);
  await waitFor(
    "the server to answer",
    async () => (await sql(credentials, "select a from t").catch(() => []))[0] === "7",
  );
});

test("a server that is killed is started again with its data, at the same port", async () => {
  const instance = instanceOf("killed", plan);
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "killed-1"), instance);
  await sql(credentials, "create table t (a int primary key); insert into t values (1)");
  const pid = await pidOf("killed");
  process.kill(pid, "SIGKILL");
  await waitFor(
    "the server to be back",
    async () => (await sql(credentials, "select a from t").catch(() => []))[0] === "1",
  );
  assert.notEqual(await pidOf("killed"), pid);
});

test("parameters count: databases, binary logs, the performance schema; a plan without TLS lets plain sessions in", async () => {
  const instance = instanceOf("parameters", "mariadb-single-nano", {
    databases: ["stock_a"],
    binlog_expire_days: 3,
  });
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "parameters-1"), instance);
  const stock = { ...credentials, name: "stock_a" };
  await sql(stock, "create table t (a int)", { tls: false });
  assert.deepEqual(await sql(credentials, "select @@log_bin, @@expire_logs_days"), ["1\t3.000000"]);
  const parameters = { databases: ["stock_a", "more"], grant_performance_schema_permissions: true };
  await mariadb.ensure({ ...instance, operation: "update", parameters });
  await sql({ ...credentials, name: "more" }, "create table t (a int)");
  assert.deepEqual(await sql(credentials, "select @@log_bin, count(*) > 0 from performance_schema.threads"), [
    "0\t1",
  ]);
  await assert.rejects(
    sql({ ...credentials, name: "stockXa" }, "select 1"),
    /Access denied|Unknown database/,
  );
});

test("dropping ends the server and leaves nothing, and its port is free", async () => {
  const instance = instanceOf("dropped", plan);
  await mariadb.ensure(instance);
  const { port } = await mariadb.bind(bindingOf(instance, "dropped-1"), instance);
  const pid = await pidOf("dropped");
  await mariadb.drop(instance);
  assert.equal(isRunning(pid), false);
  await assert.rejects(stat(mariadb.homeOf("dropped")), { code: "ENOENT" });
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(Number(port), "127.0.0.1", resolve));
  listener.close();
  await mariadb.drop(instance);
});
