import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { inspect } from "node:util";
import { createOsbClient, type OsbClient } from "./client.ts";
import { mayHaveLeftOrphan, OsbError, OsbTransportError, type OsbTransportCode } from "./errors.ts";
import { broker, json } from "./testing/fake-broker.ts";
import type { BrokerConfig } from "./transport.ts";

const provision = { instanceId: "i", serviceId: "s", planId: "p", organizationGuid: "o", spaceGuid: "sp" };

/** A broker below HTTP: what it writes on each connection is up to the test. */
async function rawBroker(
  t: TestContext,
  handle: (socket: Socket) => void,
  config: Partial<BrokerConfig> = {},
): Promise<OsbClient> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => handle(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = createOsbClient({ url: `http://127.0.0.1:${address.port}`, timeoutMs: 300, ...config });
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return client;
}

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
/** Ways in which a connection fails halfway through an answer, the code of the error, and whether the broker may hold an orphan. */
const halves: readonly (readonly [string, (socket: Socket) => void, OsbTransportCode])[] = [
  ["closes without an answer", (socket) => socket.end(), "Broken"],
  ["is reset", (socket) => socket.resetAndDestroy(), "Broken"],
  ["says nothing after the head", (socket) => socket.write(`${head}content-length: 10\r\n\r\n`), "Timeout"],
  ["speaks something else", (socket) => socket.end("SSH-2.0-OpenSSH_9.2 s3cret\r\n"), "Garbage"],
  [
    "sends an answer without end",
    (socket) => {
      // More than a client takes; what it leaves is thrown away with the connection.
      socket.write(`${head}content-length: 9000000\r\n\r\n${" ".repeat(9_000_000)}`);
    },
    "TooLarge",
  ],
];
for (const [what, handle, code] of halves) {
  test(`a connection that ${what} may have left an orphan`, async (t) => {
    // Only one that waits in vain should run into the limit, however busy the machine is.
    const client = await rawBroker(t, handle, code === "Timeout" ? {} : { timeoutMs: 30_000 });
    await assert.rejects(client.provision(provision), (error) => {
      assert.ok(error instanceof OsbTransportError);
      assert.equal(error.code, code);
      assert.ok(mayHaveLeftOrphan(error));
      assert.match(error.message, /PUT \/v2\/service_instances\/i/);
      assert.ok(!inspect(error, { showHidden: true, depth: 10 }).includes("s3cret"));
      return true;
    });
  });
}

test("a server without TLS behind an https address is a TLS error, which leaves no orphan", async (t) => {
  const plain = await rawBroker(t, (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await assert.rejects(plain.catalog(), OsbError);
  const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  await using client = createOsbClient({ url: `https://127.0.0.1:${address.port}`, timeoutMs: 5_000 });
  await assert.rejects(client.provision(provision), (error) => {
    assert.ok(error instanceof OsbTransportError);
    assert.equal(error.code, "Tls");
    assert.ok(!mayHaveLeftOrphan(error));
    return true;
  });
});

test("a name that does not exist is unreachable", async () => {
  await using client = createOsbClient({ url: "http://broker.invalid", timeoutMs: 5_000 });
  await assert.rejects(client.catalog(), { code: "Unreachable" });
});

test("an abort during the answer ends the call with the caller's reason, not as a time-out", async (t) => {
  const abort = new AbortController();
  const reason = new Error("the lease is lost");
  const client = await rawBroker(t, (socket) => {
    socket.write(`${head}content-length: 10\r\n\r\n`);
    abort.abort(reason);
  });
  await assert.rejects(client.catalog({ signal: abort.signal }), reason);
});

test("after a broken connection the next call works", async (t) => {
  let calls = 0;
  const { client } = await broker(t, (request, response) => {
    if (calls++ === 0) request.socket.destroy();
    else json(200, { services: [] })(request, response);
  });
  await assert.rejects(client.catalog(), { code: "Broken" });
  assert.deepEqual(await client.catalog(), { services: [] });
});

test("a time-out is reported in words and does not name credentials", async (t) => {
  const { client } = await broker(t, () => undefined, { timeoutMs: 300 });
  await assert.rejects(client.catalog(), {
    message: "the broker did not answer GET /v2/catalog within 300 ms",
  });
});

const auths: readonly (readonly [BrokerConfig["auth"], string | undefined])[] = [
  [{ kind: "basic", username: "ü", password: "a:b" }, `Basic ${Buffer.from("ü:a:b").toString("base64")}`],
  [{ kind: "bearer", token: "t0ken" }, "Bearer t0ken"],
  [undefined, undefined],
];
for (const [auth, expected] of auths) {
  test(`credentials of kind ${auth?.kind ?? "none"} are sent as ${expected ?? "no header"}`, async (t) => {
    const { client, requests } = await broker(t, json(200, { services: [] }), { auth, apiVersion: "2.13" });
    await client.catalog();
    assert.equal(requests[0]?.headers.authorization, expected);
    assert.equal(requests[0]?.headers["x-broker-api-version"], "2.13");
  });
}
