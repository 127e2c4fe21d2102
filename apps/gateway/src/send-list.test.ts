import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import { VirtualClock, waitFor } from "@klutch/kube-testing";
import { clientSignal } from "./exchange.ts";
import { type ListContent, sendList } from "./send-list.ts";

const content = (objects: readonly Buffer[]): ListContent => ({
  names: { apiVersion: "a.b/v1", listKind: "WidgetList" },
  resourceVersion: 7,
  objects,
});

const hold = () => ({ [Symbol.dispose]: () => undefined });

/** Serves a list; gives back the URL and the end of each answer. */
async function serve(list: ListContent) {
  const clock = new VirtualClock();
  const answers: ServerResponse[] = [];
  let ended = 0;
  const server = createServer((_, answer) => {
    answers.push(answer);
    const signal = clientSignal(answer, new AbortController().signal);
    void sendList({ answer, signal, clock, hold }, list).then(() => ended++);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    clock,
    port,
    answers,
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("a list is whole and has the length that its header says", async () => {
  for (const count of [0, 1, 5_000]) {
    const objects = Array.from({ length: count }, (_, index) => Buffer.from(JSON.stringify({ index })));
    await using server = await serve(content(objects));
    const response = await fetch(`http://127.0.0.1:${server.port}`);
    const text = await response.text();
    assert.equal(Number(response.headers.get("content-length")), Buffer.byteLength(text));
    assert.deepEqual(JSON.parse(text), {
      apiVersion: "a.b/v1",
      kind: "WidgetList",
      metadata: { resourceVersion: "7" },
      items: objects.map((_, index) => ({ index })),
    });
  }
});

test("a client that reads nothing holds one piece of the list, and is cut off after 30 seconds", async () => {
  const object = Buffer.from(JSON.stringify("x".repeat(1024 * 1024)));
  await using server = await serve(content(Array.from({ length: 64 }, () => object)));
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const answer = await waitFor("the request", () => server.answers[0]);
  await waitFor("the buffers to be full", () => answer.writableNeedDrain);
  assert.ok(answer.writableLength < 4 * 1024 * 1024, `${answer.writableLength} bytes wait`);
  await server.clock.advance(29_999);
  assert.equal(server.ended(), 0);
  await server.clock.advance(1);
  await waitFor("the end", () => server.ended() === 1);
  assert.ok(answer.destroyed);
  socket.destroy();
});
