import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { systemClock } from "@klutch/kube";
import { Controller } from "@klutch/kube-runtime";
import { silentLogger } from "@klutch/telemetry";
import { inBrokerQueues } from "./queues.ts";

const context = { signal: new AbortController().signal, logger: silentLogger };

/** Lanes of width 2 by the first letter of a key; each reconcile ends when the test says so. */
function queues() {
  const running = new Map<string, () => void>();
  const enqueued: string[] = [];
  const order: string[] = [];
  let most = 0;
  const reconcile = inBrokerQueues({
    width: 2,
    queueOf: (key) => (key.startsWith("-") ? undefined : key[0]),
    enqueue: (key) => enqueued.push(key),
    reconcile: async (key) => {
      order.push(key);
      const { promise, resolve } = Promise.withResolvers<void>();
      running.set(key, resolve);
      most = Math.max(most, [...running.keys()].filter((other) => other.startsWith("a")).length);
      await promise;
      running.delete(key);
      if (key.endsWith("!")) throw new Error("failed");
    },
  });
  const start = (key: string): Promise<unknown> => Promise.resolve(reconcile(key, context));
  const end = (key: string): void => running.get(key)?.();
  return { start, end, enqueued, order, most: () => most };
}

test("a full queue makes its own keys wait, without a worker, and no others", async () => {
  const { start, end, enqueued, order } = queues();
  const first = [start("a1"), start("a2")];
  await start("a3");
  const others = [start("b1"), start("-1"), start("-2"), start("-3")];
  assert.deepEqual(order, ["a1", "a2", "b1", "-1", "-2", "-3"]);
  end("a2");
  await first[1];
  assert.deepEqual(enqueued, ["a3"]);
  const woken = start("a3");
  assert.equal(order.at(-1), "a3");
  for (const key of ["a1", "a3", "b1", "-1", "-2", "-3"]) end(key);
  await Promise.all([...first, ...others, woken]);
  assert.deepEqual(enqueued, ["a3"]);
});

test("a key that waits in a full queue keeps the wait that its failures have made", async () => {
  const { start, end } = queues();
  const running = [start("a1"), start("a2")];
  assert.deepEqual(await start("a3"), { keepsBackOff: true });
  end("a1");
  end("a2");
  await Promise.all(running);
});

test("a reconcile that fails gives its place to the next one, too", async () => {
  const { start, end, enqueued } = queues();
  const running = [start("a1!"), start("a2")];
  await start("a3");
  end("a1!");
  await assert.rejects(running[0] ?? Promise.resolve(), /failed/);
  assert.deepEqual(enqueued, ["a3"]);
  end("a2");
  await running[1];
});

test("every key of a full queue runs in a controller, and never more than its width at the same time", async () => {
  const done = new Set<string>();
  let running = 0;
  let most = 0;
  const stop = new AbortController();
  const controller: Controller = new Controller({
    name: "queues",
    workers: 50,
    clock: systemClock,
    reconcile: inBrokerQueues({
      width: 3,
      queueOf: () => "only",
      enqueue: (key) => controller.enqueue(key),
      reconcile: async (key) => {
        most = Math.max(most, ++running);
        await turn();
        running--;
        done.add(key);
        if (done.size === 200) stop.abort();
      },
    }),
  });
  for (let index = 0; index < 200; index++) controller.enqueue(`key-${index}`);
  await controller.start({ signal: stop.signal });
  assert.equal(done.size, 200);
  assert.equal(most, 3);
});
