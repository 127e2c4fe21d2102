/** Key-value servers: what applications see of them, their limits, and their backups. */
import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { after, test } from "node:test";
import { recordAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { dump, restore } from "../testing/dumps.ts";
import { login, textsOf } from "../testing/applications.ts";
import { bindingOf, instanceOf, openFolder, pidIn, serversIn } from "../testing/servers.ts";
import { sizeOf } from "./own-server.ts";

const folder = await openFolder();
const servers = await serversIn(folder.path, { diskEveryMs: 200 });
after(async () => {
  await servers[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const { keyvalue } = servers;

const plan = "keyvalue-single-nano-ssl";

test("a binding has the keys that applications read, and works by TLS only", async () => {
  const instance = instanceOf("keys", plan);
  await keyvalue.ensure(instance);
  const credentials = await keyvalue.bind(bindingOf(instance, "keys-1"), instance);
  assert.deepEqual(Object.keys(textsOf(credentials)).toSorted(), [
    "cacrt",
    "host",
    "hosts",
    "load_balanced_host",
    "valkey.password",
    "valkey.port",
    "valkey.username",
  ]);
  using connection = await login(credentials);
  assert.equal(await connection.send("SET", "a", "1"), "OK");
  assert.deepEqual(await keyvalue.bind(bindingOf(instance, "keys-1"), instance), credentials);
  assert.equal(await connection.send("GET", "a"), "1", "binding again ends nothing");
});

test("the end of one binding ends its connections and nothing of the other", async () => {
  const instance = instanceOf("two", plan);
  await keyvalue.ensure(instance);
  const [one, two] = ["two-1", "two-2"].map((id) => bindingOf(instance, id));
  assert.ok(one !== undefined && two !== undefined);
  const first = await keyvalue.bind(one, instance);
  using gone = await login(first);
  using other = await login(await keyvalue.bind(two, instance));
  await gone.send("SET", "a", "42");
  await keyvalue.unbind(one);
  await gone.ended;
  await assert.rejects(login(first), /WRONGPASS/);
  assert.equal(await other.send("GET", "a"), "42");
  await keyvalue.unbind(one);
});

test("a tenant gets neither at the server nor at files, other accounts, or another instance", async () => {
  const [instance, other] = [instanceOf("hostile", plan), instanceOf("other", plan)];
  await Promise.all([keyvalue.ensure(instance), keyvalue.ensure(other)]);
  const credentials = await keyvalue.bind(bindingOf(instance, "hostile-1"), instance);
  const theirs = await keyvalue.bind(bindingOf(other, "other-1"), other);
  using connection = await login(credentials);
  for (const command of [
    "CONFIG GET *",
    "CONFIG SET dir /tmp",
    "DEBUG SLEEP 0",
    "SLAVEOF 127.0.0.1 1",
    "REPLICAOF NO ONE",
    "MODULE LIST",
    "MODULE LOAD /tmp/x.so",
    "ACL LIST",
    "ACL SETUSER klutch nopass",
    "SHUTDOWN NOSAVE",
    "SAVE",
    "BGSAVE",
    "BGREWRITEAOF",
    "SYNC",
    "PSYNC ? -1",
    "MONITOR",
    "MIGRATE 127.0.0.1 1 k 0 10",
    "CLIENT KILL TYPE normal",
    "CLIENT LIST",
    "LATENCY DOCTOR",
    "SLOWLOG GET",
    "FAILOVER",
    "SWAPDB 0 1",
  ])
    await assert.rejects(connection.send(...command.split(" ")), /NOPERM|not allowed/, command);
  await assert.rejects(
    connection.send("EVAL", "return redis.call('CONFIG', 'GET', '*')", "0"),
    /not allowed|NOPERM/,
  );
  await assert.rejects(connection.send("AUTH", "klutch", "x"), /WRONGPASS/);
  await assert.rejects(connection.send("AUTH", "x"), /WRONGPASS/);
  const mixed = { ...textsOf(credentials), "valkey.port": textsOf(theirs)["valkey.port"] };
  await assert.rejects(login(mixed), /WRONGPASS/);
  for (const command of ["KEYS *", "INFO", "FLUSHALL", "ACL WHOAMI", "CLIENT SETNAME me", "DBSIZE"])
    await connection.send(...command.split(" "));
});

test("a plan's memory holds: writes beyond it are refused and reading goes on", async () => {
  const instance = instanceOf("memory", plan);
  await keyvalue.ensure(instance);
  using connection = await login(await keyvalue.bind(bindingOf(instance, "memory-1"), instance));
  const megabyte = "x".repeat(1024 * 1024);
  const fill = async (): Promise<void> => {
    for (let key = 0; key < 64; key++) await connection.send("SET", `k${key}`, megabyte);
  };
  await assert.rejects(fill(), /OOM/);
  assert.equal(await connection.send("GET", "k0"), megabyte);
  await connection.send("FLUSHALL");
  await connection.send("SET", "again", "1");
});

test("an instance has only its plan's connections, and the broker is still inside", async () => {
  const instance = instanceOf("many", plan);
  await keyvalue.ensure(instance);
  const binding = bindingOf(instance, "many-1");
  const credentials = await keyvalue.bind(binding, instance);
  using stack = new DisposableStack();
  const logins = await Promise.allSettled(
    Array.from({ length: 40 }, async () => stack.use(await login(credentials))),
  );
  const inside = logins.filter(({ status }) => status === "fulfilled").length;
  assert.ok(inside >= 20 && inside < 25, String(inside));
  await keyvalue.unbind(binding);
});

test("a script without end does not prevent unbinding", async () => {
  const instance = instanceOf("endless", plan, { "lua-time-limit": 100 });
  await keyvalue.ensure(instance);
  const binding = bindingOf(instance, "endless-1");
  using connection = await login(await keyvalue.bind(binding, instance));
  const script = connection.send("EVAL", "while true do end", "0");
  script.catch(() => undefined);
  using second = await login(await keyvalue.bind(bindingOf(instance, "endless-2"), instance));
  await keyvalue.unbind(binding);
  await assert.rejects(script);
  assert.equal(await second.send("PING"), "PONG");
});

test("a script without end that has written ends with its server, which keeps what was acknowledged", async () => {
  const instance = instanceOf("stubborn", plan, { "lua-time-limit": 100 });
  await keyvalue.ensure(instance);
  const binding = bindingOf(instance, "stubborn-1");
  using connection = await login(await keyvalue.bind(binding, instance));
  await connection.send("SET", "kept", "1");
  connection.send("EVAL", "redis.call('set', 'a', '1') while true do end", "0").catch(() => undefined);
  await keyvalue.unbind(binding);
  using second = await login(await keyvalue.bind(bindingOf(instance, "stubborn-2"), instance));
  assert.equal(await second.send("GET", "kept"), "1");
  assert.equal(await second.send("GET", "a"), null);
});

test("a server that is killed is started again with what it acknowledged, at the same port, for the same logins", async () => {
  const instance = instanceOf("killed", plan);
  await keyvalue.ensure(instance);
  const credentials = await keyvalue.bind(bindingOf(instance, "killed-1"), instance);
  using connection = await login(credentials);
  await connection.send("SET", "a", "1");
  const pid = await pidIn(keyvalue.homeOf("killed"));
  process.kill(pid, "SIGKILL");
  await connection.ended;
  await waitFor("the server to be back", async () => {
    using again = (await login(credentials).catch(() => undefined)) ?? {
      send: () => undefined,
      [Symbol.dispose]: () => undefined,
    };
    return (await again.send("GET", "a")) === "1";
  });
  assert.notEqual(await pidIn(keyvalue.homeOf("killed")), pid);
});

test("every type of key is back, with its time to live, logins keep their passwords, and a restore runs once", async () => {
  const instance = instanceOf("cache", plan);
  await keyvalue.ensure(instance);
  const binding = bindingOf(instance, "cache-1");
  const options = { token: "token-1", bindings: [binding] };
  const credentials = await keyvalue.bind(binding, instance);
  const whole = await (async () => {
    using connection = await login(credentials);
    await connection.send("SET", "text", "Grüße", "EX", "1000");
    await connection.send("RPUSH", "list", "a", "b");
    await connection.send("HSET", "hash", "f", "1");
    await connection.send("ZADD", "sorted", "2", "m");
    await connection.send("XADD", "stream", "1-1", "f", "v");
    const made = await dump(keyvalue, instance);
    await connection.send("FLUSHALL");
    await connection.send("SET", "later", "1");
    return made;
  })();
  assert.equal(whole.toString("latin1", 0, 5), "REDIS");
  await restore(keyvalue, instance, whole, options);
  using connection = await login(credentials);
  assert.equal(await connection.send("GET", "text"), "Grüße");
  assert.ok(Number(await connection.send("TTL", "text")) > 900);
  assert.deepEqual(await connection.send("LRANGE", "list", "0", "-1"), ["a", "b"]);
  assert.equal(await connection.send("HGET", "hash", "f"), "1");
  assert.equal(await connection.send("XLEN", "stream"), 1);
  assert.equal(await connection.send("EXISTS", "later"), 0);
  await connection.send("SET", "after", "1");
  await restore(keyvalue, instance, whole, options);
  assert.equal(await connection.send("GET", "after"), "1", "it ran twice");
  process.kill(await pidIn(keyvalue.homeOf("cache")), "SIGKILL");
  await connection.ended;
  await keyvalue
    .serverOf("cache")
    .use((session) => session.run("PING"))
    .catch(() => undefined);
  assert.equal(await keyvalue.serverOf("cache").use((session) => session.run("GET", "text")), "Grüße");
});

test("a snapshot that is broken changes nothing", async () => {
  const instance = instanceOf("broken", plan);
  await keyvalue.ensure(instance);
  const credentials = await keyvalue.bind(bindingOf(instance, "broken-1"), instance);
  using connection = await login(credentials);
  await connection.send("SET", "a", "1");
  const whole = await dump(keyvalue, instance);
  const flipped = Buffer.from(whole);
  const last = flipped.length - 1;
  flipped[last] = (flipped[last] ?? 0) ^ 1;
  for (const [token, lie] of [
    ["half", whole.subarray(0, whole.length - 12)],
    ["flipped", flipped],
    ["other", Buffer.from("not a snapshot")],
  ] as const) {
    await assert.rejects(restore(keyvalue, instance, lie, { token }), /ended with code|did not/);
    assert.equal(await connection.send("GET", "a"), "1", token);
  }
  const names = await readdir(keyvalue.homeOf("broken"));
  assert.deepEqual(
    names.filter((name) => name === "filling" || name.startsWith("data-")),
    ["data-first"],
  );
});

test("a full disk ends writing and not deleting", async () => {
  const instance = instanceOf("full-too", plan);
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

test("a server that refuses to be told about its full disk is told again", async () => {
  const instance = instanceOf("deaf", plan);
  await keyvalue.ensure(instance);
  const credentials = await keyvalue.bind(bindingOf(instance, "deaf-1"), instance);
  const valkey = recordAt(credentials, "valkey");
  using connection = await login(credentials);
  const server = keyvalue.serverOf("deaf");
  const tell = (full: boolean): Promise<void> => server.use((session) => session.setFull(full));
  // An account that takes a right from the broker's own and gives it back, so that a call fails and the connection stays.
  const steward = { username: "steward", password: "s".repeat(32) };
  const account = ["on", `>${steward.password}`, "~*", "&*", "+@all"];
  await server.use((session) => session.run("ACL", "SETUSER", steward.username, ...account));
  using other = await login({ ...credentials, valkey: { ...valkey, ...steward } });
  for (const full of [true, false]) {
    await other.send("ACL", "SETUSER", "klutch", "-acl|setuser");
    await assert.rejects(tell(full), /NOPERM/);
    await other.send("ACL", "SETUSER", "klutch", "+@all");
    await tell(full);
    if (full) await assert.rejects(connection.send("SET", "a", "1"), /NOPERM/);
    else assert.equal(await connection.send("SET", "a", "1"), "OK");
  }
});

test("writing the same key again and again never fills the disk, because the log is rewritten", async () => {
  const instance = instanceOf("churn", plan);
  await keyvalue.ensure(instance);
  using connection = await login(await keyvalue.bind(bindingOf(instance, "churn-1"), instance));
  const value = "x".repeat(1024 * 1024);
  for (let step = 0; step < 400; step++) await connection.send("SET", "k", value).catch(() => undefined);
  await waitFor("room", async () => (await sizeOf(keyvalue.homeOf("churn"))) < 128 * 1024 * 1024);
  await waitFor("writing", async () => (await connection.send("SET", "k", "1").catch(() => "no")) === "OK");
});

test("a log that grew while it was rewritten is rewritten again", async () => {
  const instance = instanceOf("grown", plan);
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

test("parameters count and can be taken back; dropping leaves nothing", async () => {
  const parameters = { maxmemory: "8mb", "maxmemory-policy": "allkeys-lru", snapshot: ["save 900 1"] };
  const instance = instanceOf("parameters", plan, parameters);
  await keyvalue.ensure(instance);
  const server = keyvalue.serverOf("parameters");
  const get = (name: string): Promise<unknown> => server.use((session) => session.run("CONFIG", "GET", name));
  assert.deepEqual(await get("maxmemory"), ["maxmemory", String(8 * 1024 * 1024)]);
  assert.deepEqual(await get("maxmemory-policy"), ["maxmemory-policy", "allkeys-lru"]);
  assert.deepEqual(await get("save"), ["save", "900 1"]);
  await keyvalue.ensure({ ...instance, operation: "update", parameters: {} });
  assert.deepEqual(await get("maxmemory"), ["maxmemory", String(32 * 1024 * 1024)]);
  assert.deepEqual(await get("save"), ["save", ""]);
  await keyvalue.drop(instance);
  await assert.rejects(stat(keyvalue.homeOf("parameters")), { code: "ENOENT" });
});
