/** MongoDB instances as applications see them, with MongoDB's own client, which shares no line with the broker's requests. */
import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { isPortFree } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { MongoClient, MongoServerError } from "mongodb";
import { dump } from "../testing/dumps.ts";
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

test("there are no backups, and the reason says what to do", async () => {
  const { instance } = await made("backups");
  assert.match(mongodb.obstacle ?? "", /makes no backups of MongoDB instances; use mongodump/);
  await assert.rejects(dump(mongodb, instance), /have no backups/);
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
