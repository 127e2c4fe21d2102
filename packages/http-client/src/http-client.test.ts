import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { inspect } from "node:util";
import { HttpFailure, type HttpFailureCode } from "./failure.ts";
import { createHttpClient, type HttpClient, type HttpOptions, type HttpRequest } from "./http-client.ts";

/** A server below HTTP, because a real one does not break off, lie or drip on demand; and a client with one request for it. */
async function stranger(
  t: TestContext,
  handle: (socket: Socket) => void,
  options: Partial<HttpOptions> = {},
): Promise<{ readonly client: HttpClient; readonly request: HttpRequest }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", () => handle(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = createHttpClient({ timeoutMs: 20_000, ...options });
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${address.port}/`;
  return { client, request: { method: "GET", url, headers: { authorization: "Basic our-secret" } } };
}

/** Answers everything alike. */
const answer =
  (status: number, headers: readonly string[], body = "") =>
  (socket: Socket): void => {
    const lines = [`HTTP/1.1 ${status} Said`, `content-length: ${Buffer.byteLength(body)}`, ...headers];
    socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  };

const head = "HTTP/1.1 200 OK\r\n";
/** Ways in which a connection can fail halfway through an answer. */
const halves: readonly (readonly [string, (socket: Socket) => void, HttpFailureCode])[] = [
  ["closes without an answer", (socket) => socket.end(), "Broken"],
  ["is reset", (socket) => socket.resetAndDestroy(), "Broken"],
  ["closes in the middle of the head", (socket) => socket.end(`${head}cont`), "Broken"],
  [
    "closes in the middle of the body",
    (socket) => socket.end(`${head}content-length: 9\r\n\r\n{}`),
    "Broken",
  ],
  [
    "closes in the middle of a chunk",
    (socket) => socket.end(`${head}transfer-encoding: chunked\r\n\r\n9\r\n{}`),
    "Broken",
  ],
  ["says nothing", () => undefined, "Timeout"],
  ["says nothing after the head", (socket) => socket.write(`${head}content-length: 9\r\n\r\n`), "Timeout"],
  ["drips for ever", drip, "Timeout"],
  ["speaks something else", (socket) => socket.end("SSH-2.0-OpenSSH_9.2 \u001b[2Jtheirs\r\n"), "Garbage"],
  [
    "sends a head without end",
    (socket) => pump(socket, head, `x: theirs${"y".repeat(1_000)}\r\n`),
    "TooLarge",
  ],
];
for (const [what, handle, code] of halves) {
  test(`a connection that ${what} is ${code}, and nothing of either side is in the error`, async (t) => {
    const timeoutMs = code === "Timeout" ? 500 : 20_000;
    const { client, request } = await stranger(t, handle, { timeoutMs });
    await assert.rejects(client.send(request), (error) => {
      assert.ok(error instanceof HttpFailure);
      assert.equal(error.code, code);
      if (code === "Timeout") assert.equal(error.detail, "within 500 ms");
      const shown = inspect(error, { showHidden: true, depth: 10 });
      assert.ok(!["theirs", "our-secret", "\u001b"].some((word) => shown.includes(word)), shown);
      return true;
    });
  });
}

function drip(socket: Socket): void {
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
  const timer = setInterval(() => socket.write("1\r\n \r\n"), 20);
  socket.on("close", () => clearInterval(timer));
}

/** Writes `piece` again and again, at most 64 MiB of it; tells how much was taken. */
function pump(socket: Socket, first: string, piece: string): () => number {
  let sent = 0;
  socket.write(first);
  const next = (): void => {
    if (socket.destroyed || sent > 64 * 1024 * 1024) return;
    sent += piece.length;
    socket.write(piece, () => setImmediate(next));
  };
  next();
  return () => sent;
}

test("an answer of more than eight megabytes is not read to its end", async (t) => {
  let sent = (): number => 0;
  const piece = `100000\r\n${" ".repeat(0x100000)}\r\n`;
  const { client, request } = await stranger(t, (socket) => {
    sent = pump(socket, `${head}transfer-encoding: chunked\r\n\r\n`, piece);
  });
  await assert.rejects(client.send(request), { code: "TooLarge", detail: "more than 8388608 bytes" });
  assert.ok(sent() < 40 * 1024 * 1024, `${sent()} bytes were taken`);
});

test("who wants only the status does not wait for the body of a good answer, but gets that of an error", async (t) => {
  const dripping = await stranger(t, drip);
  assert.equal((await dripping.client.send({ ...dripping.request, statusOnly: true })).status, 200);
  const failing = await stranger(t, answer(503, [], "down"));
  assert.equal((await failing.client.send({ ...failing.request, statusOnly: true })).text, "down");
});

test("after a broken connection the next exchange works, and nothing was sent twice", async (t) => {
  let calls = 0;
  const { client, request } = await stranger(t, (socket) => {
    if (calls++ === 0) socket.destroy();
    else answer(200, [], "here")(socket);
  });
  await assert.rejects(client.send(request), { code: "Broken" });
  assert.equal(calls, 1);
  assert.equal((await client.send(request)).text, "here");
});

test("the caller's abort ends an exchange with the caller's reason, before it and in the answer", async (t) => {
  const reason = new Error("the lease is lost");
  const abort = new AbortController();
  const { client, request } = await stranger(t, (socket) => {
    socket.write(`${head}content-length: 10\r\n\r\n`);
    abort.abort(reason);
  });
  await assert.rejects(client.send({ ...request, signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(client.send({ ...request, signal: abort.signal }), reason);
});

test("a redirect is an answer and is not followed", async (t) => {
  let calls = 0;
  const { client, request } = await stranger(t, (socket) => {
    calls++;
    answer(307, ["location: /elsewhere"])(socket);
  });
  assert.equal((await client.send(request)).status, 307);
  assert.equal(calls, 1);
});

test("a server that is not there is unreachable: nothing was asked", async () => {
  await using client = createHttpClient({ timeoutMs: 20_000 });
  for (const url of ["http://127.0.0.1:1", "http://broker.invalid", "https://127.0.0.1:1"])
    await assert.rejects(client.send({ method: "GET", url, headers: {} }), { code: "Unreachable" });
});

const waits: readonly (readonly [string, number | undefined])[] = [
  ["7", 7_000],
  ["1.5", 1_500],
  ["0", undefined],
  ["-3", undefined],
  ["soon", undefined],
  ["", undefined],
  ["Wed, 21 Oct 2026 07:28:00 GMT", undefined],
  ["Infinity", undefined],
  ["31536000", 3_600_000],
];
for (const [header, expected] of waits) {
  test(`Retry-After ${JSON.stringify(header)} means ${expected ?? "no wait of its own"}`, async (t) => {
    const { client, request } = await stranger(t, answer(503, [`retry-after: ${header}`]));
    assert.equal((await client.send(request)).retryAfterMs, expected);
  });
}

const types: readonly (readonly [readonly string[], string])[] = [
  [["content-type: application/json; charset=utf-8"], "application/json"],
  [["Content-Type:  Application/JSON "], "application/json"],
  [["content-type: ;charset=utf-8"], ""],
  [[], ""],
];
for (const [headers, expected] of types) {
  test(`the media type of ${JSON.stringify(headers)} is ${JSON.stringify(expected)}`, async (t) => {
    const { client, request } = await stranger(t, answer(200, headers));
    assert.equal((await client.send(request)).contentType, expected);
  });
}

test("a byte order mark before the text is taken away, and of a header that comes twice the first counts", async (t) => {
  const { client, request } = await stranger(t, answer(200, ["x-twice: a", "x-twice: b"], "\ufeff{}"));
  const { text, headers } = await client.send(request);
  assert.equal(text, "{}");
  assert.equal(headers["x-twice"], "a");
});
