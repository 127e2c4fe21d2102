/** MongoDB instances as applications see them, with MongoDB's own client, which shares no line with the broker's requests. */
import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { isPortFree } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { Binary, Long, MongoClient, MongoServerError } from "mongodb";
import { damaged, dump, restore } from "../testing/dumps.ts";
import { bindingOf, instanceOf, memoryMiBOf, openFolder, pidIn, serversOf } from "../testing/servers.ts";
import type { Credentials } from "./driver.ts";

/** Keys in anynines' documentation of the service ("Service Instance Access"). */
const documented = ["default_database", "hosts", "password", "uri", "username"];
const plain = "mongodbsspl-single-nano";

await using stack = new AsyncDisposableStack();
const folder = stack.use(await openFolder());
const mongodb = stack.use(await serversOf(folder.path, "mongodb"));
const kept = stack.move();
after(() => kept.disposeAsync());

/** Connects as an application does: by the URI, and to its default database. */
async function login({ uri, cacrt }: Credentials, options: { readonly as?: Credentials } = {}) {
  const ca = join(folder.path, "ca.crt");
  if (typeof cacrt === "string") await writeFile(ca, cacrt);
  const { username, password } = options.as ?? {};
  const auth =
    options.as === undefined ? undefined : { username: String(username), password: String(password) };
  const client = new MongoClient(String(uri), {
    serverSelectionTimeoutMS: 3_000,
    ...(auth && { auth }),
    ...(cacrt !== undefined && { tlsCAFile: ca }),
  });
  const connected = await client.connect().catch(async (error: unknown) => {
    await client.close();
    throw error;
  });
  const things = connected.db().collection<{ _id: string; text: string }>("things");
  return {
    client,
    things,
    put: (_id: string, text: string) => things.insertOne({ _id, text }),
    get: async (_id: string) => (await things.findOne({ _id }))?.text,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Makes an instance and one binding. */
async function made(name: string, plan: string = plain) {
  const instance = instanceOf(name, plan);
  await mongodb.ensure(instance);
  const binding = bindingOf(instance, `${name}-1`);
  return { instance, binding, credentials: await mongodb.bind(binding, instance) };
}

/** Expects a refusal of a login, in the server's words. */
async function refused(attempt: Promise<unknown>): Promise<void> {
  await assert.rejects(attempt, (error) => {
    assert.ok(error instanceof MongoServerError, String(error));
    assert.equal(error.code, 18, error.message);
    return true;
  });
}

test("a binding has the documented keys, and its documents live through a crash of the server", async (t) => {
  const started = performance.now();
  const { credentials, instance, binding } = await made("keys");
  t.diagnostic(`usable after ${Math.round(performance.now() - started)} ms`);
  assert.deepEqual(Object.keys(credentials).toSorted(), documented);
  assert.deepEqual(await mongodb.bind(binding, instance), credentials, "binding again");
  assert.deepEqual(await mongodb.credentials(binding), credentials);
  await using app = await login(credentials);
  assert.equal(app.client.db().databaseName, credentials["default_database"]);
  await app.put("a", "grüße");
  assert.equal(await app.get("a"), "grüße");
  const pid = await pidIn(mongodb.homeOf("keys"));
  t.diagnostic(`takes ${await memoryMiBOf(pid)} MiB`);
  process.kill(pid, "SIGKILL");
  await waitFor("the server", async () => (await app.get("a").catch(() => undefined)) === "grüße");
});

test("a plan with TLS takes no other connections, and its certificate is that of the binding", async () => {
  const { credentials } = await made("tls", `${plain}-ssl`);
  assert.deepEqual(Object.keys(credentials).toSorted(), ["cacrt", ...documented]);
  await using app = await login(credentials);
  await app.put("a", "1");
  assert.equal(await app.get("a"), "1");
  const { uri } = credentials;
  await assert.rejects(login({ uri: String(uri).replace("tls=true", "tls=false") }));
  await assert.rejects(login({ uri }), /certificate/);
});

test("two bindings have their own logins; one that is gone ends with its sessions, the other goes on", async () => {
  const { instance, binding, credentials } = await made("pair");
  const second = await mongodb.bind(bindingOf(instance, "pair-2"), instance);
  assert.notEqual(second["username"], credentials["username"]);
  assert.notEqual(second["password"], credentials["password"]);
  await using one = await login(credentials);
  await using two = await login(second);
  await one.put("shared", "1");
  // The server has logins but no rights, so bindings of one instance share everything.
  assert.equal(await two.get("shared"), "1");
  await mongodb.unbind(binding, instance);
  await assert.rejects(one.get("shared"));
  await refused(login(credentials));
  assert.equal(await two.get("shared"), "1");
  await mongodb.unbind(binding, instance);
});

test("no login, a wrong password and the login of another instance get nothing", async () => {
  const [mine, theirs] = [(await made("mine")).credentials, (await made("theirs")).credentials];
  await refused(login(theirs, { as: mine }));
  await refused(login(theirs, { as: { username: theirs["username"], password: mine["password"] } }));
  await refused(login(theirs, { as: { username: "klutch", password: "wrong" } }));
  const uri = String(theirs["uri"]).replace(/\/\/.*@/, "//");
  await using stranger = await login({ uri });
  await assert.rejects(stranger.get("a"), MongoServerError);
  await assert.rejects(stranger.client.db("admin").command({ dropUser: "klutch" }), MongoServerError);
});

test("a full database takes no more documents, and its documents can be read and removed", async () => {
  await using app = await login((await made("full")).credentials);
  const text = "x".repeat(4 * 1024 * 1024);
  let count = 0;
  await assert.rejects(async () => {
    for (;;) await app.put(`piece-${count++}`, text);
  }, /full/);
  assert.ok(count > 20 && count < 80, `${count} documents of 4 MiB`);
  assert.equal((await app.get("piece-0"))?.length, text.length);
});

/** Returns all that an application can see of an instance, the logins apart. */
async function contentOf({ client }: Awaited<ReturnType<typeof login>>): Promise<object> {
  const content: Record<string, unknown> = {};
  const { databases } = await client.db().admin().listDatabases();
  for (const { name } of databases.filter((each) => each.name !== "admin"))
    for (const collection of await client.db(name).collections())
      content[`${name} ${collection.collectionName}`] = [
        await collection.indexes(),
        await collection.find({}, { sort: { _id: 1 } }).toArray(),
      ];
  return content;
}

test("a restore brings back exactly what was backed up, once; logins keep their passwords, and removed ones stay away", async () => {
  const { instance, binding, credentials } = await made("back");
  const { credentials: theirs } = await made("beside");
  const leaver = bindingOf(instance, "back-2");
  const left = await mongodb.bind(leaver, instance);
  await using beside = await login(theirs);
  await beside.put("a", "of another instance");
  const [whole, before] = await (async () => {
    await using app = await login(credentials);
    await app.put("a", "grüße");
    await app.things.createIndex({ text: 1 }, { unique: true });
    const numbers = app.client.db("second").collection("numbers");
    await numbers.insertOne({
      whole: new Long(2n ** 53n + 1n),
      at: new Date(0),
      bytes: new Binary(Buffer.from("x")),
    });
    await app.client.db("second").command({ createUser: "own", pwd: "own", roles: [] });
    const content = await contentOf(app);
    const made = await dump(mongodb, instance);
    await app.things.deleteOne({ _id: "a" });
    await app.things.dropIndexes();
    await app.put("newer", "1");
    await app.client.db("newer").collection("newer").insertOne({ a: 1 });
    await numbers.drop();
    assert.notDeepEqual(await contentOf(app), content);
    return [made, content];
  })();
  await mongodb.unbind(leaver, instance);
  const options = { token: "token-1", bindings: [binding] };
  await restore(mongodb, instance, whole, options);
  assert.deepEqual(await mongodb.credentials(binding), credentials);
  await using app = await login(credentials);
  assert.deepEqual(await contentOf(app), before);
  await assert.rejects(app.put("b", "grüße"), { code: 11_000 });
  await refused(login(left));
  const own = new URL(String(credentials["uri"]));
  own.pathname = "/second";
  await refused(login({ uri: own.href }, { as: { username: "own", password: "own" } }));
  assert.equal(await beside.get("a"), "of another instance");
  await app.put("after", "1");
  await restore(mongodb, instance, whole, options);
  process.kill(await pidIn(mongodb.homeOf("back")), "SIGKILL");
  await waitFor("the server", async () => (await app.get("after").catch(() => undefined)) === "1");
  assert.equal(await app.get("a"), "grüße");
});

test("a backup holds a database as of one moment, while it is written", async () => {
  const { instance, binding, credentials } = await made("busy");
  await using app = await login(credentials);
  const count = async (): Promise<number> => app.things.countDocuments();
  let isOver = false;
  const writing = (async () => {
    for (let number = 0; !isOver; number++) {
      // Each pair of collections has the same number, or one of them one more.
      await app.client
        .db()
        .collection("first")
        .insertOne({ number, text: "x".repeat(10_000) });
      await app.client.db().collection("second").insertOne({ number });
      await app.put(String(number), "");
    }
  })();
  await waitFor("documents", async () => (await count()) > 50);
  const whole = await dump(mongodb, instance);
  isOver = true;
  await writing;
  const all = await count();
  await restore(mongodb, instance, whole, { token: "busy", bindings: [binding] });
  await using again = await login(credentials);
  const [first = 0, second = 0] = await Promise.all(
    ["first", "second"].map((name) => again.client.db().collection(name).countDocuments()),
  );
  assert.ok(
    second >= 50 && second <= all && first - second >= 0 && first - second <= 1,
    `${first} ${second}`,
  );
});

test("a damaged backup is refused with words, and changes nothing", async () => {
  const { instance, credentials } = await made("damaged");
  await using app = await login(credentials);
  await app.put("a", "1");
  const whole = await dump(mongodb, instance);
  await app.put("newer", "2");
  for (const [token, lie] of damaged(whole)) {
    await assert.rejects(restore(mongodb, instance, lie, { token }), /the backup cannot be unpacked: .*tar/);
    assert.equal(await app.get("newer"), "2", token);
  }
  const names = (await readdir(mongodb.homeOf("damaged"))).filter((name) =>
    /^(?:data-|dump|fill)/.test(name),
  );
  assert.deepEqual(names, ["data-first"]);
});

test("a deleted instance leaves no process, no port and no folder; no log or command line has a password", async () => {
  const { instance, binding, credentials } = await made("gone");
  await refused(login(credentials, { as: { username: credentials["username"], password: "wrong" } }));
  const home = mongodb.homeOf("gone");
  const pid = await pidIn(home);
  for (const file of [join(home, "server.log"), `/proc/${pid}/cmdline`]) {
    const content = await readFile(file, "utf8");
    assert.ok(!content.includes(String(credentials["password"])) && !content.includes("password"), file);
  }
  await mongodb.drop(instance);
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  assert.ok(await isPortFree(Number(new URL(String(credentials["uri"])).port), "127.0.0.1"));
  await assert.rejects(stat(home), { code: "ENOENT" });
  await mongodb.unbind(binding, instance);
});
