import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { inspect } from "node:util";
import { createBackupManagerClient } from "./client.ts";
import {
  BackupManagerError,
  BackupManagerTransportError,
  type BackupManagerTransportCode,
  mayHaveHappened,
} from "./errors.ts";
import { createCertificates } from "./testing/certificates.ts";
import { fakeManager, json, raw, rawManager } from "./testing/fake-manager.ts";

const head = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n";
/** Ways in which a connection fails halfway through an answer, and the code of the error. */
const halves: readonly (readonly [string, (socket: Socket) => void, BackupManagerTransportCode])[] = [
  ["closes without an answer", (socket) => socket.end(), "Broken"],
  ["is reset", (socket) => socket.resetAndDestroy(), "Broken"],
  ["closes in the middle of the head", (socket) => socket.end("HTTP/1.1 201 Created\r\ncont"), "Broken"],
  ["says nothing", () => undefined, "Timeout"],
  ["says nothing after the head", (socket) => socket.write(`${head}content-length: 9\r\n\r\n`), "Timeout"],
  [
    "closes in the middle of the body",
    (socket) => socket.end(`${head}content-length: 9\r\n\r\n{"id":`),
    "Broken",
  ],
  [
    "closes in the middle of a chunk",
    (socket) => socket.end(`${head}transfer-encoding: chunked\r\n\r\n9\r\n{"id"`),
    "Broken",
  ],
  [
    "speaks something else",
    (socket) => socket.end("SSH-2.0-OpenSSH_9.2 \u001b[2Jsecret-of-theirs\r\n"),
    "Garbage",
  ],
  [
    "sends a head without end",
    (socket) => socket.write(`HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1_000)}\r\n`.repeat(100)}`),
    "TooLarge",
  ],
];
for (const [what, handle, code] of halves) {
  test(`a connection that ${what} is ${code}, and a backup may have been made`, async (t) => {
    const client = await rawManager(t, handle, { timeoutMs: 500 });
    await assert.rejects(client.createBackup("i"), (error) => {
      assert.ok(error instanceof BackupManagerTransportError);
      assert.equal(error.code, code);
      assert.ok(mayHaveHappened(error));
      assert.match(error.message, /^createBackup of instance "i": .*\. .*\.$/);
      const shown = inspect(error, { showHidden: true, depth: 10 });
      assert.ok(!shown.includes("secret-of-theirs") && !shown.includes("\u001b"), shown);
      return true;
    });
  });
}

test("a time-out says how long was waited, and health does not wait for a body", async (t) => {
  const client = await rawManager(
    t,
    (socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
      const drip = setInterval(() => socket.write("1\r\n \r\n"), 20);
      socket.on("close", () => clearInterval(drip));
    },
    { timeoutMs: 500 },
  );
  const message =
    'getBackup of backup 7 of instance "i": no complete answer came within 500 ms. Try again, or allow more time by timeoutMs.';
  await assert.rejects(client.getBackup({ instanceId: "i", backupId: 7 }), { code: "Timeout", message });
  await client.checkHealth();
});

test("the caller's abort ends the call with the caller's reason, before it, while waiting and in the answer", async (t) => {
  const reason = new Error("the lease is lost");
  const { client, requests } = await fakeManager(t, () => undefined);
  await assert.rejects(client.createBackup("i", { signal: AbortSignal.abort(reason) }), reason);
  assert.equal(requests.length, 0);
  const abort = new AbortController();
  const halfway = await rawManager(t, (socket) => {
    socket.write(`${head}content-length: 10\r\n\r\n`);
    abort.abort(reason);
  });
  await assert.rejects(halfway.createBackup("i", { signal: abort.signal }), reason);
});

test("after a broken connection the next call works, and nothing was sent twice", async (t) => {
  let calls = 0;
  const client = await rawManager(t, (socket) => {
    if (calls++ === 0) socket.destroy();
    else socket.end(`${head}content-length: 8\r\n\r\n{"id":1}`);
  });
  await assert.rejects(client.createBackup("i"), { code: "Broken" });
  assert.equal(calls, 1);
  assert.deepEqual(await client.createBackup("i"), { backupId: 1, message: "" });
});

test("a redirect is not followed: no other server sees the credentials", async (t) => {
  const thief = await fakeManager(t, json(201, { id: 1 }));
  for (const status of [301, 302, 303, 307, 308]) {
    const { client, requests } = await fakeManager(t, (_request, response) => {
      response.writeHead(status, { location: `${thief.url}/instances/i/backups` }).end();
    });
    await assert.rejects(client.createBackup("i"), (error) => {
      assert.ok(error instanceof BackupManagerError);
      assert.equal(error.code, "Redirect");
      assert.ok(!error.message.includes(thief.url), error.message);
      return true;
    });
    assert.equal(requests.length, 1);
  }
  assert.equal(thief.requests.length, 0);
});

test("a manager that is not there is unreachable: nothing was asked", async () => {
  for (const url of ["http://127.0.0.1:1", "http://manager.invalid", "https://127.0.0.1:1"]) {
    await using client = createBackupManagerClient({ url });
    await assert.rejects(client.createBackup("i"), (error) => {
      assert.ok(error instanceof BackupManagerTransportError);
      assert.equal(error.code, "Unreachable");
      assert.ok(!mayHaveHappened(error));
      return true;
    });
  }
});

test("TLS takes the authority that it is given, under the name that it is given, and nothing else", async (t) => {
  const { ca, server } = await createCertificates("manager.test");
  const other = await createCertificates("manager.test", "other authority");
  const serverName = "manager.test";
  const trusted = [
    { ca, serverName },
    { ca: `${other.ca}\n${ca}`, serverName },
    { insecureSkipVerify: true },
  ];
  const refused = [
    {},
    { serverName },
    { ca },
    { ca, serverName: "other.test" },
    { ca: other.ca, serverName },
  ];
  for (const tls of trusted) {
    const { client } = await fakeManager(t, json(201, { id: 1 }), { server, tls });
    assert.equal((await client.createBackup("i")).backupId, 1);
  }
  const named = await fakeManager(t, json(201, { id: 1 }), { server });
  const url = named.url.replace("127.0.0.1", "localhost");
  await using byName = createBackupManagerClient({ url, tls: { ca, serverName } });
  assert.equal((await byName.createBackup("i")).backupId, 1, "the name counts though the host has one, too");
  await using byHost = createBackupManagerClient({ url, tls: { ca } });
  await assert.rejects(byHost.createBackup("i"), { code: "Tls" });
  for (const tls of refused) {
    const { client, requests } = await fakeManager(t, json(201, { id: 1 }), { server, tls });
    await assert.rejects(client.createBackup("i"), (error) => {
      assert.ok(error instanceof BackupManagerTransportError);
      assert.equal(error.code, "Tls", error.message);
      assert.ok(!mayHaveHappened(error));
      return true;
    });
    assert.equal(requests.length, 0);
  }
});

test("a server without TLS behind an https address is a TLS error, one with TLS behind http is garbage", async (t) => {
  const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  await using client = createBackupManagerClient({ url: `https://127.0.0.1:${address.port}` });
  await assert.rejects(client.createBackup("i"), { code: "Tls" });
  const secure = await fakeManager(t, json(200, []), { server: (await createCertificates()).server });
  await using plain = createBackupManagerClient({ url: secure.url.replace("https", "http") });
  await assert.rejects(plain.listBackups("i"), (error) => {
    assert.ok(error instanceof BackupManagerTransportError);
    assert.ok(["Garbage", "Broken"].includes(error.code), error.code);
    return true;
  });
});

const types: readonly (readonly [string, string, BackupManagerTransportCode | undefined])[] = [
  ["application/json; charset=utf-8", '{"id":1}', undefined],
  ["Application/JSON", '{"id":1}', undefined],
  ["application/vnd.a9s+json", '{"id":1}', undefined],
  ["", '{"id":1}', undefined],
  ["application/json", '\ufeff{"id":1}', undefined],
  ["text/html", "<html>", "ContentType"],
  ["text/html", '{"id":1}', "ContentType"],
  ["text/plain", '{"id":1}', "ContentType"],
  ["application/octet-stream", '{"id":1}', "ContentType"],
  ["application/json", "<html>theirs</html>", "Garbage"],
  ["application/json", '{"id":', "Garbage"],
  ["application/json", "", "Garbage"],
  ["", "", "Garbage"],
];
for (const [type, body, code] of types) {
  test(`an answer of type ${JSON.stringify(type)} that begins ${JSON.stringify(body)} is ${code ?? "taken"}`, async (t) => {
    const { client } = await fakeManager(t, raw(201, type, body));
    const created = client.createBackup("i");
    if (code === undefined) assert.equal((await created).backupId, 1);
    else
      await assert.rejects(created, (error) => {
        assert.ok(error instanceof BackupManagerTransportError);
        assert.equal(error.code, code);
        assert.ok(!inspect(error).includes("theirs"));
        return true;
      });
  });
}
