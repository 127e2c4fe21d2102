import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import type { WireRequest } from "@klutch/kube";
import { VirtualClock, waitFor } from "@klutch/kube-testing";
import { clientSignal, untilTaken } from "./exchange.ts";
import { passThrough } from "./pass-through.ts";

/** An answer of the API server that has no end. */
async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.alloc(64 * 1024, "x");
    await Promise.resolve();
  }
}

const send = (_request: WireRequest) =>
  Promise.resolve({
    status: 200,
    retryAfter: undefined,
    headers: {},
    body: endless(),
    text: () => Promise.resolve(""),
    discard: () => Promise.resolve(),
  });

/** Passes one request of a client that reads nothing. */
async function start(hold: (bytes: number) => Disposable | undefined) {
  const clock = new VirtualClock();
  const answers: ServerResponse[] = [];
  let isOver = false;
  const server = createServer((request, answer) => {
    answers.push(answer);
    const signal = clientSignal(answer, new AbortController().signal);
    const passed = { request, answer, forwarded: {}, signal, clock, hold, mostBytes: 0 };
    void passThrough({ send }, passed).then(() => (isOver = true));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const answer = await waitFor("the request", () => answers[0]);
  return {
    clock,
    answer,
    isOver: () => isOver,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("a client that stops to read a passed answer is cut off after 30 seconds, and the API server's connection is free", async () => {
  await using passed = await start(() => ({ [Symbol.dispose]: () => undefined }));
  await waitFor("the buffers to be full", () => passed.answer.writableNeedDrain);
  await passed.clock.advance(29_999);
  assert.equal(passed.isOver(), false);
  await passed.clock.advance(1);
  await waitFor("the end", () => passed.isOver());
  assert.ok(passed.answer.destroyed);
});

test("a passed answer counts with what the connection to the API server takes ahead, and is cut off when its account leaves too much unread", async () => {
  let asked = 0;
  await using passed = await start((bytes) => void (asked = bytes));
  await waitFor("the end", () => passed.isOver());
  assert.ok(passed.answer.destroyed);
  assert.ok(asked > 256 * 1024, `${asked} bytes`);
});

test("an answer that was written and is not taken is cut off after 30 seconds", async () => {
  const clock = new VirtualClock();
  const server = createServer((_, answer) => {
    const signal = clientSignal(answer, new AbortController().signal);
    answer.end(Buffer.alloc(64 * 1024 * 1024));
    void untilTaken(answer, signal, clock).then(() => taken.resolve(answer.destroyed));
  });
  const taken = Promise.withResolvers<boolean>();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(server, "request");
  await clock.advance(30_000);
  assert.equal(await taken.promise, true);
  socket.destroy();
  server.close();
});
