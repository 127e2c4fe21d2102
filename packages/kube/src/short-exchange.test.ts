/** Answers that end badly, from an in-process server that stops in the middle of them. */
import assert from "node:assert/strict";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { Agent } from "undici";
import { createTurns } from "./body-text.ts";
import { exchange, type ShortAnswer } from "./short-exchange.ts";

const bodyDeadlineMs = 1_000;

async function fixture(t: TestContext, listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const agent = new Agent({ connections: 1 });
  t.after(async () => {
    await agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  const clock = new VirtualClock();
  const bounds = { limitBytes: 1_000, bodyDeadlineMs, clock, turns: createTurns(), action: "GET /" };
  const send = (signal?: AbortSignal): Promise<ShortAnswer> =>
    exchange(
      agent,
      { origin: `http://127.0.0.1:${address.port}`, path: "/", method: "GET" },
      { ...bounds, signal },
    );
  return { send, clock };
}

test("an abort in the middle of an answer rejects with its reason and closes the connection", async (t) => {
  const abort = new AbortController();
  const closed = Promise.withResolvers<void>();
  const { send } = await fixture(t, (_request, response) => {
    response.on("close", () => closed.resolve());
    response.writeHead(200).write("begin", () => abort.abort(new Error("enough")));
  });
  await assert.rejects(send(abort.signal), { message: "enough" });
  await closed.promise;
});

test("a request that is aborted while it waits for its connection never reaches the server", async (t) => {
  const open: ServerResponse[] = [];
  const { send } = await fixture(t, (_request, response) => void open.push(response));
  const reached = async (count: number): Promise<void> => {
    while (open.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  const abort = new AbortController();
  const [served, waiting] = [send(), send(abort.signal)];
  await reached(1);
  abort.abort(new Error("enough"));
  await assert.rejects(waiting, { message: "enough" });
  await assert.rejects(send(AbortSignal.abort(new Error("before"))), { message: "before" });
  open[0]?.end("whole");
  assert.equal((await served).text, "whole");
  const later = send();
  await reached(2);
  open[1]?.end("later");
  assert.equal((await later).text, "later");
});

test("a body that comes drop by drop is given up after its deadline", async (t) => {
  const begun = Promise.withResolvers<void>();
  const { send, clock } = await fixture(t, (_request, response) => {
    response.writeHead(200).write("drop", () => begun.resolve());
  });
  const outcome = assert.rejects(send(), { code: "ETIMEDOUT", message: "the answer did not end within 1 s" });
  await begun.promise;
  while (clock.nextDueAt === undefined) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(bodyDeadlineMs);
  await outcome;
});
