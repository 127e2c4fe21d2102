/** Servers whose disk is full: writing ends, reading and making room go on, and with room writing is back. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { waitFor } from "@klutch/kube-testing";
import { bindingOf, instanceOf, login, openFolder, serversIn, sql } from "../testing/servers.ts";
import { isFull, sizeOf } from "./disk.ts";

const folder = await openFolder();
const servers = await serversIn(folder.path, { diskEveryMs: 200 });
after(async () => {
  await servers[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const { mariadb, keyvalue } = servers;
assert.ok(mariadb !== undefined && keyvalue !== undefined);

test("what is full has room again only when it is well below its limit", () => {
  const mib = 1024 * 1024;
  assert.deepEqual(
    [
      isFull(100 * mib, 100, false),
      isFull(101 * mib, 100, false),
      isFull(95 * mib, 100, true),
      isFull(89 * mib, 100, true),
    ],
    [false, true, true, false],
  );
});

test("MariaDB: a full disk ends writing and not deleting, also for those who come later", async () => {
  const instance = instanceOf("full", "mariadb-single-nano-ssl");
  await mariadb.ensure(instance);
  const credentials = await mariadb.bind(bindingOf(instance, "full-1"), instance);
  await sql(
    credentials,
    "create table small (a int); create table big (a int primary key auto_increment, b longblob)",
  );
  const row = "insert into big (b) select repeat('x', 8000000);";
  // Until it is refused; a server that did not limit would be stopped by the size of its largest file.
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
  // With room its session ends, which may be before the answer.
  await sql(later, "truncate table big").catch((error: unknown) => {
    assert.match(String(error), /ERROR (2013|2026|2006|1927)/);
  });
  await waitFor("writing to be back", async () => !(await denied()));
});

test("key-value: a full disk ends writing and not deleting", async () => {
  const instance = instanceOf("full-too", "keyvalue-single-nano-ssl");
  await keyvalue.ensure(instance);
  using connection = await login(await keyvalue.bind(bindingOf(instance, "full-too-1"), instance));
  await connection.send("SET", "a", "1");
  const server = keyvalue.serverOf("full-too");
  await server.use((session) => session.setFull(true));
  await assert.rejects(connection.send("SET", "a", "2"), /NOPERM/);
  await assert.rejects(connection.send("EVAL", "return redis.call('SET', 'a', '2')", "0"), /NOPERM/);
  assert.equal(await connection.send("GET", "a"), "1");
  assert.equal(await connection.send("DEL", "a"), 1);
  await server.use((session) => session.setFull(false));
  assert.equal(await connection.send("SET", "a", "3"), "OK");
});

test("key-value: writing the same key again and again never fills the disk, because the log is written anew", async () => {
  const instance = instanceOf("churn", "keyvalue-single-nano-ssl");
  await keyvalue.ensure(instance);
  using connection = await login(await keyvalue.bind(bindingOf(instance, "churn-1"), instance));
  const value = "x".repeat(1024 * 1024);
  for (let step = 0; step < 400; step++) await connection.send("SET", "k", value).catch(() => undefined);
  await waitFor("room", async () => (await sizeOf(keyvalue.homeOf("churn"))) < 128 * 1024 * 1024);
  await waitFor("writing", async () => (await connection.send("SET", "k", "1").catch(() => "no")) === "OK");
});

test("key-value: a log that grew while it was written anew is written anew again", async () => {
  const instance = instanceOf("grown", "keyvalue-single-nano-ssl");
  await keyvalue.ensure(instance);
  using connection = await login(await keyvalue.bind(bindingOf(instance, "grown-1"), instance));
  const keys = Array.from({ length: 20 }, (_, index) => [`small-${index}`, "x"]).flat();
  await connection.send("MSET", ...keys);
  const server = keyvalue.serverOf("grown");
  const run = (...words: readonly string[]) => server.use((session) => session.run(...words));
  // One that takes long, and no other by the server's own choice.
  await run("CONFIG", "SET", "auto-aof-rewrite-percentage", "0", "rdb-key-save-delay", "200000");
  await run("BGREWRITEAOF");
  const value = "x".repeat(1024 * 1024);
  const write = async (): Promise<boolean> =>
    connection.send("SET", "k", value).then(
      () => true,
      () => false,
    );
  while (await write());
  assert.match(String(await run("INFO", "persistence")), /aof_rewrite_in_progress:1/);
  await run("CONFIG", "SET", "rdb-key-save-delay", "0");
  await waitFor("writing", write);
});
