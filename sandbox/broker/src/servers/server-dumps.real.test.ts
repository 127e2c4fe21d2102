/** Dumps and restores of real servers of both kinds, without the manager around them. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, test } from "node:test";
import type { Dumps } from "../backup-manager/dumps.ts";
import { findPlan } from "../catalog.ts";
import { bindingOf, instanceOf, login, openFolder, serversIn, sql } from "../testing/servers.ts";
import type { Binding, Instance } from "../store.ts";

const folder = await openFolder();
const bindings: Binding[] = [];
const bindingsOf = (id: string): Promise<readonly Binding[]> =>
  Promise.resolve(bindings.filter(({ instanceId }) => instanceId === id));
const servers = await serversIn(folder.path, { bindingsOf });
after(async () => {
  await servers[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const { mariadb, keyvalue } = servers;
assert.ok(mariadb !== undefined && keyvalue !== undefined);
const signal = AbortSignal.timeout(120_000);

function dumpsOf({ planId }: Instance): Dumps {
  const found = servers.dumps.find(({ serviceId }) => serviceId === findPlan(planId)?.serviceId);
  assert.ok(found !== undefined);
  return found;
}

async function dump(instance: Instance): Promise<Buffer> {
  const to = new PassThrough();
  const [whole] = await Promise.all([buffer(to), dumpsOf(instance).dump(instance, to, signal)]);
  return whole;
}

async function restore(instance: Instance, whole: Buffer, token: string): Promise<void> {
  const open = (): Readable => Readable.from(pieces(whole), { objectMode: false });
  await dumpsOf(instance).restore(instance, { open }, { token, signal });
}

function* pieces(whole: Buffer): Generator<Buffer> {
  for (let at = 0; at < whole.length; at += 5_000) yield whole.subarray(at, at + 5_000);
}

const backends = { mariadb, keyvalue };

function bind(
  type: keyof typeof backends,
  instance: Instance,
  id: string,
): Promise<Readonly<Record<string, unknown>>> {
  const binding = bindingOf(instance, id);
  bindings.push(binding);
  return backends[type].bind(binding, instance);
}

test("MariaDB: rows, views, routines and triggers are back, logins keep their passwords, and a restore runs once", async () => {
  const instance = instanceOf("shop", "mariadb-single-nano-ssl");
  await mariadb.ensure(instance);
  const credentials = await bind("mariadb", instance, "shop-1");
  const gone = await bind("mariadb", instance, "shop-2");
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
  bindings.pop();
  const whole = await dump(instance);
  await sql(credentials, "drop table t; drop view v; create table later (a int)");
  await restore(instance, whole, "token-1");
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
  await restore(instance, whole, "token-1");
  assert.deepEqual(await sql(credentials, "select count(*) from t"), ["2"], "it ran twice");
  assert.deepEqual(
    (await readdir(mariadb.homeOf("shop"))).filter((name) => name.startsWith("data-")),
    ["data-token-1"],
  );
  const users = await mariadb
    .serverOf("shop")
    .use((session) => session.run("select user from mysql.user where user like 'klutch%'"));
  assert.deepEqual(users, [["klutch"]]);
});

test("MariaDB: a dump that is broken, or acts as somebody else than a login, changes nothing", async () => {
  const instance = instanceOf("lies", "mariadb-single-nano-ssl");
  await mariadb.ensure(instance);
  const credentials = await bind("mariadb", instance, "lies-1");
  await sql(credentials, "create table t (a int); insert into t values (1)");
  const [header = "", ...rest] = (await dump(instance)).toString("utf8").split("\n");
  const body = rest.join("\n");
  const use = `USE \`${String(credentials["name"])}\`;\n`;
  for (const [name, lie, message] of [
    ["half", `${header}\n${body}\ninsert into t value`, /failed/],
    ["nothing", "", /does not begin with/],
    ["system", `{"databases":["mysql"]}\n`, /does not begin with/],
    [
      "admin",
      `${header}\n${use}create definer='klutch'@'localhost' procedure p() select 1;\n`,
      /acts as "klutch@localhost"/,
    ],
    ["rights", `${header}\ngrant all on *.* to 'x'@'%' identified by 'x';\n`, /failed/],
    ["accounts", `${header}\nselect * from mysql.global_priv;\n`, /failed/],
    ["shell", `${header}\n\\! touch ${folder.path}/pwned\n`, /failed/],
    ["files", `${header}\n${use}select 1 into outfile '${folder.path}/pwned';\n`, /failed/],
  ] as const) {
    await assert.rejects(restore(instance, Buffer.from(lie), `lie-${name}`), message, name);
    assert.deepEqual(await sql(credentials, "select a from t"), ["1"], name);
  }
  assert.deepEqual(await readdir(folder.path), ["servers"]);
  assert.deepEqual(
    (await readdir(mariadb.homeOf("lies"))).filter((name) => name.startsWith("data-")),
    ["data-first"],
  );
});

test("key-value: every type of key is back, with its time to live, logins keep their passwords, and a restore runs once", async () => {
  const instance = instanceOf("cache", "keyvalue-single-nano-ssl");
  await keyvalue.ensure(instance);
  const credentials = await bind("keyvalue", instance, "cache-1");
  const whole = await (async () => {
    using connection = await login(credentials);
    await connection.send("SET", "text", "Grüße", "EX", "1000");
    await connection.send("RPUSH", "list", "a", "b");
    await connection.send("HSET", "hash", "f", "1");
    await connection.send("ZADD", "sorted", "2", "m");
    await connection.send("XADD", "stream", "1-1", "f", "v");
    const made = await dump(instance);
    await connection.send("FLUSHALL");
    await connection.send("SET", "later", "1");
    return made;
  })();
  assert.equal(whole.toString("latin1", 0, 5), "REDIS");
  await restore(instance, whole, "token-1");
  using connection = await login(credentials);
  assert.equal(await connection.send("GET", "text"), "Grüße");
  assert.ok(Number(await connection.send("TTL", "text")) > 900);
  assert.deepEqual(await connection.send("LRANGE", "list", "0", "-1"), ["a", "b"]);
  assert.equal(await connection.send("HGET", "hash", "f"), "1");
  assert.equal(await connection.send("XLEN", "stream"), 1);
  assert.equal(await connection.send("EXISTS", "later"), 0);
  await connection.send("SET", "after", "1");
  await restore(instance, whole, "token-1");
  assert.equal(await connection.send("GET", "after"), "1", "it ran twice");
  process.kill(
    Number(
      (JSON.parse(await readFile(join(keyvalue.homeOf("cache"), "process.json"), "utf8")) as { pid: number })
        .pid,
    ),
    "SIGKILL",
  );
  await connection.ended;
  await keyvalue
    .serverOf("cache")
    .use((session) => session.run("PING"))
    .catch(() => undefined);
  assert.equal(await keyvalue.serverOf("cache").use((session) => session.run("GET", "text")), "Grüße");
});

test("key-value: a snapshot that is broken changes nothing", async () => {
  const instance = instanceOf("broken", "keyvalue-single-nano-ssl");
  await keyvalue.ensure(instance);
  const credentials = await bind("keyvalue", instance, "broken-1");
  using connection = await login(credentials);
  await connection.send("SET", "a", "1");
  const whole = await dump(instance);
  const flipped = Buffer.from(whole);
  const last = flipped.length - 1;
  flipped[last] = (flipped[last] ?? 0) ^ 1;
  for (const [token, lie] of [
    ["half", whole.subarray(0, whole.length - 12)],
    ["flipped", flipped],
    ["other", Buffer.from("not a snapshot")],
  ] as const) {
    await assert.rejects(restore(instance, lie, token), /ended with code|did not/);
    assert.equal(await connection.send("GET", "a"), "1", token);
  }
});

test("a restore that is stopped in the middle, and what a killed broker left of one, change nothing and leave nothing", async () => {
  for (const [type, plan] of [
    ["mariadb", "mariadb-single-nano-ssl"],
    ["keyvalue", "keyvalue-single-nano-ssl"],
  ] as const) {
    const instance = instanceOf(`stopped-${type}`, plan);
    const home = backends[type].homeOf(instance.id);
    await backends[type].ensure(instance);
    const whole = await dump(instance);
    const stop = new AbortController();
    // It says half and then nothing more, for ever.
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
    const stopped = dumpsOf(instance).restore(instance, { open }, { token: "stopped", signal: stop.signal });
    await assert.rejects(stopped, /enough|abort/);
    const before = (await readdir(home)).toSorted();
    assert.ok(before.includes("data-first") && !before.includes("data-stopped"));
    for (const name of ["filling", "data-killed", "data-killed.partial"]) await mkdir(join(home, name));
    await dumpsOf(instance).cleanUp();
    assert.deepEqual((await readdir(home)).toSorted(), before);
    await restore(instance, whole, "stopped");
    assert.ok((await readdir(home)).includes("data-stopped"));
  }
});
