/** RabbitMQ as applications see it, with the client amqplib and by its HTTP API. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile, stat } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, test } from "node:test";
import { connect } from "amqplib";
import { writeOwn } from "@klutch/data-servers";
import { isPortFree } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { adminPasswordOf } from "../names.ts";
import { damaged, dump, restore } from "../testing/dumps.ts";
import { textsOf } from "../testing/applications.ts";
import {
  bindingOf,
  instanceOf,
  memoryMiBOf,
  messagingIn,
  openFolder,
  pidIn,
  secretKey,
} from "../testing/servers.ts";
import { pack } from "./archive.ts";
import type { Credentials } from "./driver.ts";
import { rabbitmqPatienceMs } from "./rabbitmq-server.ts";

/** Keys in anynines' documentation of bindings with TLS; the Secret has no others. */
const documented = [
  "http_api_uri",
  "http_api_uris",
  ...["host", "hosts", "password", "port", "ssl", "uri", "username"].map(
    (key) => `protocols.amqp_ssl.${key}`,
  ),
  ...["cacrt", "host", "hosts", "password", "path", "port", "ssl", "uri", "uris", "username"].map(
    (key) => `protocols.management.${key}`,
  ),
];

await using stack = new AsyncDisposableStack();
const folder = stack.use(await openFolder());
const messaging = stack.use(await messagingIn(folder.path));
const kept = stack.move();
after(() => kept.disposeAsync());
const root = join(folder.path, "servers", "messaging");

/** Returns the parts as the Secret of a binding has them. */
function secretOf({ protocols, ...others }: Credentials): Readonly<Record<string, string>> {
  const nested = Object.entries(protocols as Readonly<Record<string, object>>).flatMap(([name, part]) =>
    Object.entries(textsOf({ ...part })).map(([key, value]) => [`protocols.${name}.${key}`, value] as const),
  );
  return { ...textsOf(others), ...Object.fromEntries(nested) };
}

/** Connects as an application does; `path` replaces the virtual host. */
async function login(
  credentials: Credentials,
  { host, password }: { readonly host?: string; readonly password?: string } = {},
) {
  const secret = secretOf(credentials);
  const url = new URL(secret["protocols.amqp_ssl.uri"] ?? "");
  if (host !== undefined) url.pathname = host;
  if (password !== undefined) url.password = password;
  const connection = await connect(url.href, {
    ca: [Buffer.from(secret["protocols.management.cacrt"] ?? "")],
  });
  connection.on("error", () => undefined);
  return connection;
}

type Connection = Awaited<ReturnType<typeof login>>;

/** The client's words when the server closes a connection instead of opening its virtual host. */
const refusedToOpen = /Expected ConnectionOpenOk; got <ConnectionClose/;

/** Sends a message through a queue. */
async function roundTrip(connection: Connection, queue: string): Promise<string> {
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue(queue);
  channel.sendToQueue(queue, Buffer.from("grüße"), { persistent: true });
  await channel.waitForConfirms();
  const message = await channel.get(queue, { noAck: true });
  await channel.close();
  return message === false ? "" : message.content.toString();
}

async function ask(credentials: Credentials, path: string, password?: string) {
  const secret = secretOf(credentials);
  const url = new URL(`${secret["http_api_uri"]}${path}`);
  const auth = `${url.username}:${password ?? url.password}`;
  const sent = request(url, { auth, ca: secret["protocols.management.cacrt"], agent: false }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return { status: answer.statusCode, text: (await answer.toArray()).join("") };
}

async function made(name: string) {
  const instance = instanceOf(name, "messaging-single-nano-ssl");
  await messaging.ensure(instance);
  const binding = bindingOf(instance, `${name}-1`);
  return { instance, binding, credentials: await messaging.bind(binding) };
}

test("a binding has the documented keys, and its messages live through a crash of the server", async (t) => {
  const started = performance.now();
  const { binding, credentials } = await made("keys");
  t.diagnostic(`usable after ${Math.round(performance.now() - started)} ms`);
  assert.deepEqual(Object.keys(secretOf(credentials)).toSorted(), documented.toSorted());
  assert.deepEqual(await messaging.bind(binding), credentials, "binding again");
  assert.deepEqual(await messaging.credentials(binding), credentials);
  const connection = await login(credentials);
  assert.equal(await roundTrip(connection, "orders"), "grüße");
  const channel = await connection.createConfirmChannel();
  channel.sendToQueue("orders", Buffer.from("kept"), { persistent: true });
  await channel.waitForConfirms();
  const pid = await pidIn(join(root, "server"));
  t.diagnostic(`takes ${await memoryMiBOf(pid)} MiB`);
  process.kill(pid, "SIGKILL");
  const again = await waitFor("the server", () => login(credentials).catch(() => undefined), {
    timeoutMs: rabbitmqPatienceMs,
  });
  const message = await (await again.createChannel()).get("orders", { noAck: true });
  assert.ok(message !== false && message.content.toString() === "kept");
  await again.close();
});

test("two bindings share a virtual host with logins of their own; one that is gone ends with its connections", async () => {
  const { instance, binding, credentials } = await made("pair");
  const second = await messaging.bind(bindingOf(instance, "pair-2"));
  const [one, two] = [await login(credentials), await login(second)];
  assert.equal(await roundTrip(one, "a"), "grüße");
  const closed = once(one, "close");
  await messaging.unbind(binding);
  await closed;
  await assert.rejects(login(credentials), /ACCESS.REFUSED/i);
  assert.equal((await ask(credentials, "/vhosts")).status, 401);
  assert.equal(await roundTrip(two, "a"), "grüße");
  await two.close();
  await messaging.unbind(binding);
});

test("a binding reaches no other instance, by AMQP and by the HTTP API", async () => {
  const [mine, theirs] = [(await made("mine")).credentials, (await made("theirs")).credentials];
  const host = new URL(secretOf(theirs)["protocols.amqp_ssl.uri"] ?? "").pathname;
  await assert.rejects(login(mine, { host }), refusedToOpen);
  await assert.rejects(login(theirs, { password: "wrong" }), /ACCESS.REFUSED/i);
  assert.equal((await ask(theirs, "/vhosts", "wrong")).status, 401);
  const seen = await ask(mine, "/vhosts");
  assert.equal(seen.status, 200);
  assert.ok(!seen.text.includes(host.slice(1)) && !seen.text.includes('"name":"/"'), seen.text);
  assert.notEqual((await ask(mine, `/queues${host}`)).status, 200);
  for (const path of ["/users", "/definitions"]) assert.notEqual((await ask(mine, path)).status, 200, path);
  await assert.rejects(login(mine, { host: "/%2F" }), refusedToOpen);
});

test("a plan limits connections and queues", async () => {
  const { credentials } = await made("limits");
  const connections: Connection[] = [];
  await assert.rejects(async () => {
    for (let count = 0; count < 25; count++) connections.push(await login(credentials));
  }, refusedToOpen);
  assert.equal(connections.length, 20);
  const channel = await connections[0]?.createChannel();
  channel?.on("error", () => undefined);
  await assert.rejects(async () => {
    for (let count = 0; count < 50; count++) await channel?.assertQueue(`q${count}`);
  }, /limit/i);
  for (const connection of connections) await connection.close();
});

/** Returns the name of the virtual host. */
function hostOf(credentials: Credentials): string {
  return new URL(secretOf(credentials)["protocols.amqp_ssl.uri"] ?? "").pathname.slice(1);
}

/** Returns what an application sees defined in its virtual host. */
async function definedIn(credentials: Credentials): Promise<object> {
  const host = hostOf(credentials);
  const seen = async (part: string, ...fields: readonly string[]): Promise<readonly string[]> => {
    const { status, text } = await ask(credentials, `/${part}/${host}?columns=${fields.join(",")}`);
    assert.equal(status, 200, text);
    const all = JSON.parse(text) as readonly Readonly<Record<string, unknown>>[];
    // The server lists fields in any order.
    return all.map((each) => JSON.stringify(fields.map((field) => each[field]))).toSorted();
  };
  return {
    exchanges: await seen("exchanges", "name", "type", "durable", "arguments"),
    queues: await seen("queues", "name", "durable", "arguments"),
    bindings: await seen("bindings", "source", "destination", "routing_key", "arguments"),
    policies: await seen("policies", "name", "pattern", "definition", "priority"),
  };
}

/** Makes an instance with exchanges, queues, bindings and a policy. */
async function furnished(name: string) {
  const { instance, binding, credentials } = await made(name);
  const connection = await login(credentials);
  const channel = await connection.createChannel();
  await channel.assertExchange("orders", "topic");
  await channel.assertExchange("audit", "fanout", { alternateExchange: "orders" });
  await channel.assertQueue("lasting", { arguments: { "x-max-length": 5 } });
  await channel.assertQueue("quorum", { arguments: { "x-queue-type": "quorum" } });
  await channel.bindQueue("lasting", "orders", "a.#", { kind: "grüße" });
  await channel.bindQueue("lasting", "amq.direct", "b");
  await channel.bindExchange("audit", "orders", "#");
  const { hostname, port } = new URL(secretOf(credentials)["http_api_uri"] ?? "");
  const host = hostOf(credentials);
  const put = request({
    host: hostname,
    port,
    method: "PUT",
    path: `/api/policies/${host}/short`,
    auth: `klutch:${adminPasswordOf("messaging", secretKey)}`,
    ca: secretOf(credentials)["protocols.management.cacrt"],
    headers: { "content-type": "application/json" },
    agent: false,
  }).end(JSON.stringify({ pattern: "^lasting$", definition: { "message-ttl": 600_000 } }));
  const [answer] = (await once(put, "response")) as [IncomingMessage];
  assert.equal(answer.statusCode, 201);
  answer.resume();
  return { instance, binding, credentials, connection, channel, host };
}

/** Returns a backup whose file is whole and which holds this text. */
async function lie(text: string): Promise<Buffer> {
  const to = new PassThrough();
  const whole = buffer(to);
  const copy = (inside: string): Promise<void> => writeOwn(join(inside, "definitions.json"), text);
  await pack(folder.path, copy, to, AbortSignal.timeout(60_000));
  return whole;
}

test("a restore brings back the definitions exactly, once; logins keep their passwords, and removed ones stay away", async () => {
  const { instance, binding, credentials, connection, channel } = await furnished("back");
  const theirs = await login((await made("beside")).credentials);
  const beside = await theirs.createConfirmChannel();
  await beside.assertQueue("theirs");
  beside.sendToQueue("theirs", Buffer.from("of another instance"), { persistent: true });
  await beside.waitForConfirms();
  const leaver = bindingOf(instance, "back-2");
  const left = await messaging.bind(leaver);
  const before = await definedIn(credentials);
  const whole = await dump(messaging, instance);
  await channel.deleteQueue("lasting");
  await channel.deleteExchange("audit");
  await channel.assertExchange("audit", "direct");
  await channel.assertQueue("newer");
  assert.notDeepEqual(await definedIn(credentials), before);
  await messaging.unbind(leaver);
  const closed = once(connection, "close");
  const options = { token: "token-1", bindings: [binding] };
  await restore(messaging, instance, whole, options);
  await closed;
  assert.deepEqual(await messaging.credentials(binding), credentials);
  assert.deepEqual(await definedIn(credentials), before);
  // The server counts a policy's queues every few seconds.
  await waitFor("the restored policy to reach its queue", async () => {
    const { text } = await ask(credentials, `/queues/${hostOf(credentials)}/lasting?columns=policy`);
    return text.includes('"short"');
  });
  await assert.rejects(login(left), /ACCESS.REFUSED/i);
  const again = await login(credentials);
  const used = await again.createConfirmChannel();
  used.publish("orders", "a.b", Buffer.from("routed"));
  await used.waitForConfirms();
  const message = await waitFor("the message", () => used.get("lasting", { noAck: true }));
  assert.equal(message.content.toString(), "routed");
  const kept = await beside.get("theirs", { noAck: true });
  assert.ok(kept !== false && kept.content.toString() === "of another instance");
  await used.assertQueue("after");
  await restore(messaging, instance, whole, options);
  await used.checkQueue("after");
  await again.close();
  await theirs.close();
});

test("a damaged backup, and one that lies, are refused with words, and change nothing", async () => {
  const { instance, binding, credentials, connection, channel, host } = await furnished("lied");
  const other = (await made("victim")).credentials;
  const whole = await dump(messaging, instance);
  await channel.assertQueue("newer");
  const [before, theirs] = [await definedIn(credentials), await definedIn(other)];
  const refuses = async (token: string, given: Buffer, words: RegExp): Promise<void> => {
    await assert.rejects(restore(messaging, instance, given, { token, bindings: [binding] }), words);
    assert.deepEqual(await definedIn(credentials), before, token);
    await channel.checkQueue("newer");
  };
  for (const [token, given] of damaged(whole))
    await refuses(token, given, /the backup cannot be unpacked: .*tar/);
  const empty = { exchanges: [], queues: [], bindings: [], policies: [], parameters: [] };
  for (const [token, value, words] of [
    ["list", { ...empty, queues: 1 }, /no definitions of a virtual host: no list queues/],
    ["entry", { ...empty, queues: ["a"] }, /an entry of queues is no object/],
    ["type", { ...empty, exchanges: [{ name: "a", type: "none", durable: true }] }, /RabbitMQ answered 400/],
    [
      "many",
      { ...empty, queues: Array.from({ length: 60 }, (_, at) => ({ name: `q${at}`, durable: true })) },
      /RabbitMQ answered 400/,
    ],
  ] as const)
    await refuses(token, await lie(JSON.stringify(value)), words);
  // Whatever it says, it fills this virtual host, keeps the limits of the plan, and makes no users.
  const elsewhere = hostOf(other);
  const intruder = {
    ...empty,
    queues: [{ name: "intruder", vhost: elsewhere, durable: true, auto_delete: false, arguments: {} }],
    parameters: [{ component: "vhost-limits", name: "limits", value: { "max-queues": 1000 } }],
    users: [{ name: "mallory", password: "m", tags: "administrator" }],
    vhosts: [{ name: "mallory" }],
  };
  await restore(messaging, instance, await lie(JSON.stringify(intruder)), {
    token: "in",
    bindings: [binding],
  });
  assert.deepEqual(await definedIn(other), theirs);
  assert.match(JSON.stringify(await definedIn(credentials)), /intruder/);
  const login2 = await login(credentials);
  const limited = await login2.createChannel();
  limited.on("error", () => undefined);
  await assert.rejects(async () => {
    for (let count = 0; count < 50; count++) await limited.assertQueue(`q${count}`);
  }, /limit/i);
  await assert.rejects(login(credentials, { host: "/mallory" }), refusedToOpen);
  await login2.close();
  assert.ok(host !== elsewhere);
  connection.removeAllListeners("close");
});

test("a restore that ended in its middle is finished at the next start", async () => {
  const { instance, binding, credentials, channel } = await furnished("middle");
  const before = await definedIn(credentials);
  const whole = await dump(messaging, instance);
  await channel.assertQueue("newer");
  const changed = await definedIn(credentials);
  const stop = (at: string) => (step: string) => {
    if (step === at) throw new Error(`stopped at ${at}`);
  };
  const halt = (token: string, step: string): Promise<void> =>
    restore(messaging, instance, whole, { token, bindings: [binding], onStep: stop(step) });
  await assert.rejects(halt("early", "restore staged"), /stopped at/);
  await messaging.resume(instance);
  assert.deepEqual(await definedIn(credentials), changed);
  await assert.rejects(halt("late", "restore swapped"), /stopped at/);
  assert.deepEqual(await definedIn(credentials), changed);
  await messaging.resume(instance);
  assert.deepEqual(await definedIn(credentials), before);
});

test("an instance that is dropped ends its connections, and the last one leaves no process, no port and no folder", async () => {
  const { credentials, instance } = await made("gone");
  const connection = await login(credentials);
  const closed = once(connection, "close");
  const home = join(root, "server");
  const secret = secretOf(credentials);
  const log = await readFile(join(home, "server.log"), "utf8");
  assert.ok(!log.includes(secret["protocols.amqp_ssl.password"] ?? ""));
  const pid = await pidIn(home);
  assert.ok(!(await readFile(`/proc/${pid}/cmdline`, "utf8")).includes("pass"));
  await messaging.drop(instance, [bindingOf(instance, "gone-1")]);
  await closed;
  await stat(home);
  const others = ["keys", "pair", "mine", "theirs", "limits", "back", "beside", "lied", "victim", "middle"];
  for (const name of others) await messaging.drop(instanceOf(name, "messaging-single-nano-ssl"), []);
  await assert.rejects(stat(root), { code: "ENOENT" });
  for (const part of ["amqp_ssl", "management"])
    assert.ok(await isPortFree(Number(secret[`protocols.${part}.port`]), "127.0.0.1"));
  const left: string[] = [];
  for (const each of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${each}/environ`, "utf8").catch(() => "");
    if (environment.includes(root)) left.push(await readFile(`/proc/${each}/cmdline`, "utf8"));
  }
  assert.deepEqual(left, [], "epmd is one of them");
});
