/** RabbitMQ as applications see it, with the client amqplib and by its HTTP API. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile, stat } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect } from "amqplib";
import { isPortFree } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import {
  bindingOf,
  instanceOf,
  memoryMiBOf,
  messagingIn,
  openFolder,
  pidIn,
  textsOf,
} from "../testing/servers.ts";
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
  for (const name of ["keys", "pair", "mine", "theirs", "limits"])
    await messaging.drop(instanceOf(name, "messaging-single-nano-ssl"), []);
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
