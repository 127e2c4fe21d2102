import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { VirtualClock } from "@klutch/kube-testing";
import { WorkQueue } from "./work-queue.ts";

/** A step of the test; a promoted key is taken at once. */
type Change =
  | { readonly op: "add"; readonly key: string }
  | { readonly op: "get" | "promote"; readonly key: "a/0" };

test("groups take turns, whatever one of them adds, and each keeps its own order", async () => {
  const key = fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 9 }));
  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.record({ op: fc.constant("add" as const), key: key.map(([group, id]) => `${group}/${id}`) }),
    fc.record({
      op: fc.constantFrom("get" as const, "promote" as const),
      key: fc.constant("a/0" as const),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 120 }), async (changes) => {
      const groupOf = (one: string): string => one.slice(0, 1);
      const queue = new WorkQueue({ groups: { of: groupOf, atOnce: 1, restsAbove: 1_000 } });
      const waiting: string[] = [];
      /** Groups that took a key since the one of each group was added. */
      let turns: string[] = [];
      const takeInTurn = async (): Promise<void> => {
        const [group = ""] = turns;
        const taken = await queue.get();
        assert.equal(
          taken,
          waiting.find((other) => groupOf(other) === group),
        );
        queue.done(taken ?? "");
        waiting.splice(waiting.indexOf(taken ?? ""), 1);
        turns = turns.slice(1);
        if (waiting.some((other) => groupOf(other) === group)) turns.push(group);
      };
      let gets = 0;
      for (const one of changes) {
        if (one.op === "add") {
          queue.add(one.key);
          if (!waiting.includes(one.key)) waiting.push(one.key);
          if (!turns.includes(groupOf(one.key))) turns.push(groupOf(one.key));
        } else if (one.op === "promote") {
          queue.add(one.key, { priority: "high" });
          waiting.splice(0, waiting.length, ...waiting.filter((other) => other !== one.key));
          turns = turns.filter((group) => waiting.some((other) => groupOf(other) === group));
          // One key in eight comes from the lowest priority.
          if (++gets % 8 === 0 && waiting.length > 0) {
            await takeInTurn();
            gets++;
          }
          assert.equal(await queue.get(), one.key);
          queue.done(one.key);
        } else if (queue.size > 0) {
          gets++;
          await takeInTurn();
        }
        assert.equal(queue.size, waiting.length);
      }
    }),
    { examples: [[promoted(6)], [promoted(17)]] },
  );
});

/** Keys that wait while another one overtakes them again and again. */
function promoted(times: number): Change[] {
  const add = ["a/1", "a/2", "b/1"].map((key) => ({ op: "add" as const, key }));
  return [...add, ...Array.from({ length: times }, () => ({ op: "promote" as const, key: "a/0" as const }))];
}

test("a group of which enough is worked on is passed over until some of it is done, in every priority", async () => {
  const queue = new WorkQueue({ groups: { of: (key) => key.slice(0, 1), atOnce: 2, restsAbove: 1_000 } });
  for (const key of ["a1", "a2", "a3", "a4", "b1"]) queue.add(key);
  queue.add("a5", { priority: "high" });
  const taken = [await queue.get(), await queue.get(), await queue.get()];
  assert.deepEqual(taken, ["a5", "a1", "b1"]);
  const next = queue.get();
  queue.done("b1");
  queue.done("a1");
  assert.equal(await next, "a2");
  queue.done("a5");
  assert.equal(await queue.get(), "a3");
});

test("a group with many waiting keys rests for as long as a key took, while the others go on", async () => {
  const clock = new VirtualClock();
  const queue = new WorkQueue({ clock, groups: { of: (key) => key.slice(0, 1), atOnce: 1, restsAbove: 1 } });
  for (const key of ["a1", "a2", "a3", "b1", "b2"]) queue.add(key);
  assert.deepEqual([await queue.get(), await queue.get()], ["a1", "b1"]);
  const pass = (ms: number): Promise<unknown> => clock.run({ untilMs: clock.monotonic() + ms });
  await pass(40);
  queue.done("a1");
  queue.done("b1");
  assert.equal(await queue.get(), "b2", "one key of b waits, which is not many");
  let taken: string | undefined;
  const next = queue.get().then((key) => (taken = key));
  await pass(39);
  assert.equal(taken, undefined);
  await pass(2);
  await next;
  assert.equal(taken, "a2");
  await pass(10);
  queue.done("a2");
  assert.equal(await queue.get(), "a3", "the last one does not wait for a rest");
});
