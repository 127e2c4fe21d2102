/** MariaDB servers: what applications see of them, their limits, and their backups. */
import assert from "node:assert/strict";
import { mkdir, readdir, rename, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { waitFor } from "@klutch/kube-testing";
import { dump, restore } from "../testing/dumps.ts";
import { sql } from "../testing/applications.ts";
import { bindingOf, instanceOf, openFolder, pidIn, serversIn } from "../testing/servers.ts";
import { userOf } from "../names.ts";
import { sizeOf } from "./own-server.ts";

const folder = await openFolder();
const servers = await serversIn(folder.path, { diskEveryMs: 200 });
after(async () => {
  await servers[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const { mariadb } = servers;

const plan = "mariadb-single-nano-ssl";
/** Most tests share one server. */
const instance = instanceOf("shop", plan);
await mariadb.ensure(instance);
const home = mariadb.homeOf(instance.id);
const data = async (): Promise<readonly string[]> =>
  (await readdir(home)).filter((name) => name.startsWith("data-"));

/** Returns the first column of a statement of the broker's own account. */
async function asAdmin(statement: string): Promise<readonly string[]> {
  const rows = await mariadb.serverOf(instance.id).use((session) => session.run(statement));
  assert.ok(Array.isArray(rows));
  return rows.map((row: readonly string[]) => row[0] ?? "");
}

test("a binding has the keys that applications read, and works by TLS only, with the server's authority", async () => {
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
  const [one, two] = ["two-1", "two-2"].map((id) => bindingOf(instance, id));
  assert.ok(one !== undefined && two !== undefined);
  const first = await mariadb.bind(one, instance);
  const second = await mariadb.bind(two, instance);
  await sql(
    first,
    "create table two (a int primary key); insert into two values (42); create view v as select a from two;",
  );
  const asleep = assert.rejects(sql(first, "select sleep(60)"), /ERROR (2026|2013|2006|1317|1927)/);
  await waitFor("the session to sleep", async () => {
    const sleeping = "select count(*) from information_schema.processlist where state = 'User sleep'";
    return (await asAdmin(sleeping))[0] === "1";
  });
  await mariadb.unbind(one);
  await asleep;
  await assert.rejects(sql(first, "select 1"), /Access denied|account is locked/);
  // Views that act in its name still work.
  assert.deepEqual(await sql(second, "select a from v; insert into two values (43)"), ["42"]);
  await mariadb.unbind(one);
  await sql(second, "drop view v");
  await mariadb.bind(one, instance);
  await mariadb.unbind(one);
  const [first1, second1] = [one, two].map(({ id }) => userOf(id));
  const left = await asAdmin("select user from mysql.user where host = '%'");
  assert.ok(!left.includes(first1 ?? "") && left.includes(second1 ?? ""));
});

test("a tenant gets neither at the server nor at files, other accounts, or another instance", async () => {
  const other = instanceOf("other", plan);
  await mariadb.ensure(other);
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

test("an instance has only its plan's connections, and the broker still gets in", async () => {
  const credentials = await mariadb.bind(bindingOf(instance, "many-1"), instance);
  const sessions = Array.from({ length: 16 }, () => sql(credentials, "select sleep(60)").catch(String));
  const refused = await Promise.race(sessions);
  assert.match(String(refused), /max_user_connections|Too many connections/);
  await mariadb.unbind(bindingOf(instance, "many-1"));
  assert.equal((await Promise.all(sessions)).length, 16);
});

test("a session that wants more memory than the plan gives it fails, and the server goes on", async () => {
  const credentials = await mariadb.bind(bindingOf(instance, "memory-1"), instance);
  const greedy =
    "set session tmp_table_size = 1073741824, max_heap_table_size = 1073741824;" +
    "select count(distinct a.seq, b.seq) from seq_1_to_3000 a, seq_1_to_3000 b;";
  await assert.rejects(sql(credentials, greedy), /max-session-mem-used=67108864/);
  assert.deepEqual(await sql(credentials, "select 1"), ["1"]);
});

test("a server that is killed is started again with its data, at the same port", async () => {
  const credentials = await mariadb.bind(bindingOf(instance, "killed-1"), instance);
  await sql(credentials, "create table killed (a int primary key); insert into killed values (1)");
  const pid = await pidIn(home);
  process.kill(pid, "SIGKILL");
  await waitFor(
    "the server to be back",
    async () => (await sql(credentials, "select a from killed").catch(() => []))[0] === "1",
  );
  assert.notEqual(await pidIn(home), pid);
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

test("rows, views, routines and triggers are back, logins keep their passwords, and a restore runs once", async () => {
  const binding = bindingOf(instance, "shop-1");
  const credentials = await mariadb.bind(binding, instance);
  const gone = await mariadb.bind(bindingOf(instance, "shop-2"), instance);
  await sql(
    credentials,
    `create table t (a int primary key, b varchar(100), c blob);
     insert into t values (1, 'Grüße 🌍 \\\\! echo \\' ;', x'00ff0a');
     create view v as select a from t;
     delimiter //
     create procedure p() begin select 'called'; end //
     create trigger g before insert on t for each row set new.b = concat(new.b, '+') //`,
  );
  await sql(gone, "create view theirs as select b from t");
  await mariadb.unbind(bindingOf(instance, "shop-2"));
  const options = { token: "token-1", bindings: [binding] };
  const whole = await dump(mariadb, instance);
  await sql(credentials, "drop table t; drop view v; create table later (a int)");
  await restore(mariadb, instance, whole, options);
  const rows = await sql(
    credentials,
    "select a, b, hex(c) from t; select a from v; select b from theirs; call p(); insert into t values (2, 'x', null); select b from t where a = 2",
  );
  assert.deepEqual(rows, [
    "1\tGrüße 🌍 \\\\! echo ' ;\t00FF0A",
    "1",
    "Grüße 🌍 \\\\! echo ' ;",
    "called",
    "x+",
  ]);
  await assert.rejects(sql(credentials, "select * from later"), /doesn't exist/);
  await restore(mariadb, instance, whole, options);
  assert.deepEqual(await sql(credentials, "select count(*) from t"), ["2"], "it ran twice");
  assert.deepEqual(await data(), ["data-token-1"]);
  assert.deepEqual(await asAdmin("select user from mysql.user where user like 'klutch%'"), ["klutch"]);
});

test("a restore of a broken dump, one that is stopped, and what a killed broker left of one change nothing", async () => {
  const binding = bindingOf(instance, "lies-1");
  const credentials = await mariadb.bind(binding, instance);
  await sql(credentials, "create table lies (a int); insert into lies values (1)");
  const before = await data();
  const whole = await dump(mariadb, instance);
  const use = `use \`${String(credentials["name"])}\`;\n`;
  for (const [token, lie] of [
    ["half", `${whole.toString("utf8")}\ninsert into lies value`],
    ["shell", `\\! touch ${folder.path}/pwned\n`],
    ["wrong", `${use}insert into nowhere values (1);\n`],
  ] as const) {
    const restored = restore(mariadb, instance, Buffer.from(lie), { token, bindings: [binding] });
    await assert.rejects(restored, /mariadb failed: ERROR/, token);
    assert.deepEqual(await sql(credentials, "select a from lies"), ["1"], token);
  }
  assert.deepEqual(await readdir(folder.path), ["servers"]);
  await stopInTheMiddle(whole);
  assert.deepEqual(await data(), before);
  for (const name of ["filling", "data-killed", "data-killed.partial"]) await mkdir(join(home, name));
  await restore(mariadb, instance, whole, { token: "stopped", bindings: [binding] });
  assert.deepEqual(await data(), ["data-stopped"]);
  assert.ok(!(await readdir(home)).includes("filling"));
  assert.deepEqual(await sql(credentials, "select a from lies"), ["1"]);
});

/** Restores from a dump that contains half, then stops the restore. */
async function stopInTheMiddle(whole: Buffer): Promise<void> {
  const stop = new AbortController();
  const open = (): Readable => {
    let isFirst = true;
    return new Readable({
      read() {
        if (isFirst) this.push(whole.subarray(0, whole.length / 2));
        else stop.abort(new Error("enough"));
        isFirst = false;
      },
    });
  };
  const stopped = mariadb.restore(instance, [], { open, token: "stopped", signal: stop.signal });
  await assert.rejects(stopped, /enough|abort/);
}

test("a server that cannot be told about its full disk is told again", async () => {
  const instance = instanceOf("deaf", plan);
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "deaf-1"), instance);
  await sql(credentials, "create table t (a int)");
  const insert = (): Promise<unknown> => sql(credentials, "insert into t values (1)");
  const server = mariadb.serverOf("deaf");
  const tell = (full: boolean): Promise<void> => server.use((session) => session.setFull(full));
  const socket = join(mariadb.homeOf("deaf"), "data-first", "socket");
  for (const full of [true, false]) {
    await rename(socket, `${socket}-away`);
    await assert.rejects(tell(full), /socket/);
    await rename(`${socket}-away`, socket);
    await tell(full);
    if (full) await assert.rejects(insert(), /ERROR 1142/);
    else await insert();
  }
});

test("a full disk ends writing and not deleting, also for those who come later", async () => {
  const instance = instanceOf("full", plan);
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "full-1"), instance);
  await sql(
    credentials,
    "create table small (a int); create table big (a int primary key auto_increment, b longblob)",
  );
  const row = "insert into big (b) select repeat('x', 8000000);";
  // Inserts until the server refuses; the size limit of files would stop a server without a quota.
  await assert.rejects(
    (async () => {
      for (let step = 0; step < 40; step++) await sql(credentials, row.repeat(4));
    })(),
    /ERROR (1142|1044|1114|1927|2013|2026|2006|1021|1030)/,
  );
  const denied = async (): Promise<boolean> =>
    sql(credentials, "insert into small values (1)").then(
      () => false,
      (error: unknown) => String(error).includes("ERROR 1142"),
    );
  await waitFor("writing to be refused", denied);
  const later = await mariadb.bind(bindingOf(instance, "full-2"), instance);
  await assert.rejects(sql(later, "insert into small values (1)"), /ERROR 1142/);
  assert.deepEqual(await sql(later, "select count(*) from small"), ["0"]);
  assert.ok((await sizeOf(mariadb.homeOf("full"))) < 1024 ** 3);
  // Once there is room the session ends, possibly before the answer.
  await sql(later, "truncate table big").catch((error: unknown) => {
    assert.match(String(error), /ERROR (2013|2026|2006|1927)/);
  });
  await waitFor("writing to be back", async () => !(await denied()));
});

test("size and sessions of clients are told; those of the broker itself do not count", async () => {
  const look = async () => {
    const [found] = await Array.fromAsync(mariadb.activity([instance]));
    assert.ok(found !== undefined);
    return found[1];
  };
  const credentials = await mariadb.bind(bindingOf(instance, "look-1"), instance);
  const before = await look();
  await asAdmin("select 1");
  assert.notEqual((await dump(mariadb, instance)).length, 0);
  assert.deepEqual({ ...(await look()), bytes: before.bytes }, before);
  await sql(credentials, "create table look (a longblob); insert into look values (repeat('x', 8000000))");
  const after = await look();
  assert.equal(after.sessions, before.sessions + 1);
  assert.ok(after.bytes > before.bytes + 8_000_000, `${before.bytes} and ${after.bytes}`);
  const asleep = sql(credentials, "select sleep(3)");
  await waitFor("the session to be seen", async () => (await look()).isOpen);
  await asleep;
  await sql(credentials, "drop table look");
});

test("dropping ends the server and leaves nothing, and its port is free", async () => {
  const { port } = await mariadb.bind(bindingOf(instance, "dropped-1"), instance);
  const pid = await pidIn(home);
  await mariadb.drop(instance);
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  await assert.rejects(stat(home), { code: "ENOENT" });
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(Number(port), "127.0.0.1", resolve));
  listener.close();
  await mariadb.drop(instance);
});
