/** Answers that are longer than any real server's, from an in-process server whose only purpose is to send them. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { type KubeObject, secrets } from "@klutch/kube-core";
import { boundedText, createTurns } from "./body-text.ts";
import { createKubeClient } from "./client.ts";
import type { KubeClient } from "./types.ts";

const ref = { namespace: "default", name: "a" };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Fixture {
  readonly client: KubeClient;
}

async function fixture(t: TestContext, handler: Handler): Promise<Fixture> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const config = {
    name: "fake",
    server: `http://127.0.0.1:${address.port}`,
    auth: { kind: "none" as const },
  };
  const client = createKubeClient(config);
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { client };
}

const mebibyte = 1024 * 1024;

/** Sends chunks for as long as somebody reads; gives back how many bytes went out. */
function pour(response: ServerResponse, begin: string): () => number {
  let sent = 0;
  const chunk = "x".repeat(mebibyte / 4);
  const more = (): void => {
    while (!response.destroyed && sent < 400 * mebibyte) {
      sent += chunk.length;
      if (!response.write(chunk)) return;
    }
    response.end();
  };
  response.writeHead(200, { "content-type": "application/json" }).write(begin);
  response.on("drain", more);
  more();
  return () => sent;
}

test("an answer that does not end is given up at its limit, object or page", async (t) => {
  const poured: (() => number)[] = [];
  const { client } = await fixture(t, (_request, response) => {
    poured.push(pour(response, '{"metadata":{},"data":"'));
  });
  await assert.rejects(client.get(secrets, ref), {
    name: "TransportError",
    code: "TooLarge",
    message: /get|GET.*: the answer is longer than 3145728 bytes/i,
  });
  await assert.rejects(client.list(secrets), { code: "TooLarge", message: /longer than 8388608 bytes/ });
  await assert.rejects(client.request({ method: "GET", path: "/version" }), { code: "TooLarge" });
  for (const sent of poured) assert.ok(sent() < 40 * mebibyte, `${sent()} bytes were taken`);
});

test("an answer that names too great a length is not read at all, and neither is that of an error", async (t) => {
  const { client } = await fixture(t, (request, response) => {
    const status = request.url?.includes("configmaps") === true ? 500 : 200;
    response.writeHead(status, { "content-length": 4 * mebibyte }).write("{");
  });
  await assert.rejects(client.get(secrets, ref), { code: "TooLarge" });
  await assert.rejects(client.get({ ...secrets, plural: "configmaps" }, ref), { code: "TooLarge" });
});

test("a large answer within the limit is read whole, with characters that stand across its chunks", async (t) => {
  const text = "ä€😀".repeat(300_000);
  const bytes = Buffer.from(JSON.stringify({ metadata: { name: "a" }, text }));
  const { client } = await fixture(t, (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    for (let at = 0; at < bytes.length; at += 10_007) response.write(bytes.subarray(at, at + 10_007));
    response.end();
  });
  const found = await client.get<KubeObject & { readonly text: string }>(secrets, ref);
  assert.equal(found.text, text);
});

test("large bodies are read two at a time, so that many at once do not fill the memory", async () => {
  const turns = createTurns();
  let reading = 0;
  const seen: number[] = [];
  async function* large(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(mebibyte + 1).fill(65);
    seen.push(++reading);
    await new Promise((resolve) => setImmediate(resolve));
    reading--;
    yield new Uint8Array(1).fill(65);
  }
  const bodies = Array.from({ length: 7 }, () => boundedText(large(), 2 * mebibyte, "get", turns));
  for (const text of await Promise.all(bodies)) assert.equal(text.length, mebibyte + 2);
  assert.equal(seen.length, 7);
  assert.equal(Math.max(...seen), 2);
  // A body that is refused gives its turn back.
  const refused = Array.from({ length: 4 }, () => boundedText(large(), mebibyte + 1, "get", turns));
  for (const { status } of await Promise.allSettled(refused)) assert.equal(status, "rejected");
  assert.equal((await boundedText(large(), 2 * mebibyte, "get", turns)).length, mebibyte + 2);
});

test("large answers that all begin before one of them ends do not wait for each other for ever", async (t) => {
  const names = Array.from({ length: 8 }, (_, at) => `n${at}`);
  const open: ServerResponse[] = [];
  const { client } = await fixture(t, (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`{"metadata":{"name":"a"},"data":"${"x".repeat(2 * mebibyte)}`);
    open.push(response);
  });
  const reads = names.map((name) => client.get(secrets, { namespace: "default", name }));
  // All begin, and each ends as soon as it may: none waits for one that waits for it.
  while (open.length < names.length) await new Promise((resolve) => setImmediate(resolve));
  for (const response of open) response.end('"}');
  assert.equal((await Promise.all(reads)).length, names.length);
});
