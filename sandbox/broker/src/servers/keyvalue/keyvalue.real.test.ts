/** Key-value servers, with tenants that work in them and some that mean harm. */
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { waitFor } from "@klutch/kube-testing";
import { bindingOf, instanceOf, login, openFolder, serversIn, textsOf } from "../../testing/servers.ts";

const folder = await openFolder();
const servers = await serversIn(folder.path);
after(async () => {
  await servers[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const { keyvalue } = servers;
assert.ok(keyvalue !== undefined);

const plan = "keyvalue-single-nano-ssl";

async function pidOf(instanceId: string): Promise<number> {
  const text = await readFile(join(keyvalue?.homeOf(instanceId) ?? "", "process.json"), "utf8");
  return (JSON.parse(text) as { readonly pid: number }).pid;
}

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

test("a plan's connections are all that there are, and the broker is still inside", async () => {
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

test("a script without end keeps nobody from being unbound", async () => {
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
  const pid = await pidOf("killed");
  process.kill(pid, "SIGKILL");
  await connection.ended;
  await waitFor("the server to be back", async () => {
    using again = (await login(credentials).catch(() => undefined)) ?? {
      send: () => undefined,
      [Symbol.dispose]: () => undefined,
    };
    return (await again.send("GET", "a")) === "1";
  });
  assert.notEqual(await pidOf("killed"), pid);
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
