/** Logs as applications see them: sent by syslog over TLS, found by OpenSearch's HTTP API, with the Secret's keys alone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { after, test } from "node:test";
import { isPortFree } from "@klutch/engines";
import { recordAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { damaged, dump, restore } from "../testing/dumps.ts";
import { bindingOf, instanceOf, openFolder, pidIn, serversOf } from "../testing/servers.ts";
import type { Credentials } from "./driver.ts";
import { longestMessage } from "./syslog.ts";

await using stack = new AsyncDisposableStack();
const folder = stack.use(await openFolder());
const servers = stack.use(await serversOf(folder.path, "logme2"));
const kept = stack.move();
after(() => kept.disposeAsync());
const logs = instanceOf("logs", "logme-single-small-ssl");
await servers.ensure(logs);
const [sender, reader] = await Promise.all([
  servers.bind(bindingOf(logs, "sender"), logs),
  servers.bind(bindingOf(logs, "reader"), logs),
]);
const patient = { timeoutMs: 240_000 };

const drainOf = (credentials: Credentials): URL => new URL(String(credentials["syslog_drain_url"]));

async function open(credentials: Credentials): Promise<TLSSocket> {
  const { hostname: host, port } = drainOf(credentials);
  const socket = connect({ host, port: Number(port), ca: String(credentials["cacrt"]) });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

/** Asks as an application does, and returns the answer. */
async function ask(credentials: Credentials, path: string, method = "GET"): Promise<Answer> {
  const { host, username, password, cacrt } = credentials;
  const sent = request(`${String(host)}${path}`, {
    method,
    auth: `${String(username)}:${String(password)}`,
    ca: String(cacrt),
    agent: false,
  }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const text = (await answer.toArray()).join("");
  assert.equal(answer.statusCode, 200, text);
  return JSON.parse(text) as Answer;
}

interface Answer {
  readonly hits: { readonly hits: readonly { readonly _source: Readonly<Record<string, unknown>> }[] };
}

/** Returns the documents that the query finds. */
async function found(
  query: string,
  credentials = reader,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { hits } = await ask(credentials, `/logs-*/_search?q=${encodeURIComponent(query)}`);
  return hits.hits.map(({ _source }) => _source);
}

/** Returns all messages with their ids and versions, and the indices that they are in. */
async function contentOf(credentials: Credentials): Promise<unknown> {
  const all = "/logs-*/_search?size=1000&version=true&seq_no_primary_term=true";
  const { hits } = (await ask(credentials, all)).hits;
  const indices = Object.entries(await ask(credentials, "/logs-*"));
  return {
    messages: hits.map((hit) => JSON.stringify(hit)).toSorted(),
    mappings: indices.map(([name, index]) => [name, recordAt(index, "mappings")]),
  };
}

const arrived = (query: string, count = 1): Promise<boolean> =>
  waitFor(query, async () => (await found(query).catch(() => [])).length === count, patient);

test("a binding has the documented keys, and the other one finds each message that was sent to its drain", async () => {
  const keys = ["cacrt", "host", "password", "syslog_drain_url", "username"];
  assert.deepEqual(Object.keys(sender).toSorted(), keys);
  assert.equal(drainOf(sender).protocol, "syslog-tls:");
  assert.deepEqual(await servers.credentials(bindingOf(logs, "sender")), sender);
  const socket = await open(sender);
  const message = '<165>1 2026-11-29T03:00:00Z shop cart 8710 ID47 [a@1 k="v"] paid order-4711';
  socket.write(`${Buffer.byteLength(message)} ${message}`);
  socket.write("<13>1 2026-11-28T23:59:59Z shop cart - - - paid order-4712\nno syslog at all order-4713\n");
  await arrived("order*", 3);
  const [first] = await found("message:4711");
  assert.deepEqual(first, {
    "@timestamp": "2026-11-29T03:00:00.000Z",
    facility: 20,
    severity: 5,
    hostname: "shop",
    appname: "cart",
    procid: "8710",
    msgid: "ID47",
    structured_data: '[a@1 k="v"]',
    message: "paid order-4711",
  });
  assert.equal((await found("appname:cart AND severity:5")).length, 2);
  socket.destroy();
});

test("a sender that lies reaches neither accounts nor another index, and hinders no other sender", async () => {
  const [good, long] = [await open(sender), await open(sender)];
  // Lines of the bulk API, and a time that would name another index.
  good.write('{"delete":{"_index":"logs-2026-11-29","_id":"1"}}\n');
  good.write("<13>1 2026-13-45T00:00:00Z/../../.opendistro_security h a - - - liar-1\n");
  const closed = once(long, "close");
  long.write(`${longestMessage + 1} x`);
  await closed;
  const { hostname: host, port } = drainOf(sender);
  const plain = connectPlain(Number(port), host);
  plain.on("error", () => undefined);
  plain.write("<13>1 - - - - - - plain-1\n");
  await once(plain, "close");
  good.write("<13>1 - - - - - - after-1\n");
  await arrived("message:after");
  assert.equal((await found("message:liar")).length, 1);
  assert.equal((await found("message:delete")).length, 1);
  assert.equal((await found("message:plain")).length, 0);
  assert.equal((await found("message:4711")).length, 1);
  good.destroy();
});

test("after a crash of the server the drain has the same address, and no message is lost", async () => {
  const early = await open(sender);
  process.kill(await pidIn(servers.homeOf("logs")), "SIGKILL");
  early.write("<13>1 - - - - - - early-1\n");
  await waitFor("the end of the drain", () => early.destroyed);
  const socket = await waitFor("the drain", () => open(sender).catch(() => undefined), patient);
  socket.write("<13>1 - - - - - - back-1\n");
  await arrived("message:back");
  await arrived("message:early");
  assert.equal((await found("message:4711")).length, 1);
  socket.destroy();
});

test("a restore brings back exactly the messages of its backup, once; drain, logins and the neighbour stay as they are", async () => {
  const beside = instanceOf("beside", "logme-single-small-ssl");
  await servers.ensure(beside);
  const neighbour = await servers.bind(bindingOf(beside, "neighbour"), beside);
  const [socket, other] = [await open(sender), await open(neighbour)];
  other.write("<13>1 - - - - - - theirs-1\n");
  await waitFor("theirs", async () => (await found("message:theirs", neighbour)).length === 1, patient);
  const [before, untouched] = [await contentOf(reader), await contentOf(neighbour)];
  const whole = await dump(servers, logs);
  assert.deepEqual(await contentOf(reader), before, "a backup leaves nothing");
  await ask(reader, "/logs-*", "DELETE");
  socket.write("<13>1 - - - - - - later-1\n");
  await arrived("message:later");
  const later = await contentOf(reader);
  for (const [token, lie] of damaged(whole))
    await assert.rejects(restore(servers, logs, lie, { token }), /the backup cannot be unpacked/);
  assert.deepEqual(await contentOf(reader), later, "a damaged backup changes nothing");

  const bindings = ["sender", "reader"].map((id) => bindingOf(logs, id));
  await restore(servers, logs, whole, { token: "token-1", bindings });
  assert.deepEqual(await contentOf(reader), before);
  assert.deepEqual(await servers.credentials(bindingOf(logs, "sender")), sender);
  const again = await waitFor("the drain", () => open(sender).catch(() => undefined), patient);
  again.write("<13>1 - - - - - - again-1\n");
  await arrived("message:again");
  await restore(servers, logs, whole, { token: "token-1", bindings });
  assert.equal((await found("message:again")).length, 1, "it runs once");
  assert.deepEqual(await contentOf(neighbour), untouched);
  for (const each of [socket, again, other]) each.destroy();
  await servers.drop(beside);
});

test("an instance that is dropped ends its senders, and leaves no port and no folder", async () => {
  const socket = await open(sender);
  const { hostname, port } = drainOf(sender);
  const silent = connectPlain(Number(port), hostname);
  await once(silent, "connect");
  silent.resume().on("error", () => undefined);
  const closed = [socket, silent].map((each) => once(each, "close"));
  await servers.drop(logs);
  await Promise.all(closed);
  for (const url of [drainOf(sender), new URL(String(sender["host"]))])
    assert.ok(await isPortFree(Number(url.port), "127.0.0.1"), url.protocol);
  await assert.rejects(pidIn(servers.homeOf("logs")), /no server works in/);
});
