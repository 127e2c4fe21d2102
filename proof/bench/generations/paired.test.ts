import assert from "node:assert/strict";
import { test } from "node:test";
import { measurePaired } from "./paired.ts";

test("both works are called equally often, each first as often as second", () => {
  const order: string[] = [];
  const paired = measurePaired(
    () => order.push("one"),
    () => order.push("other"),
    { rounds: 20, calls: 1 },
  );
  const rounds = order.flatMap((name, at) => (at % 2 === 0 ? [name] : []));
  assert.deepEqual([order.length, rounds.length], [44, 22]);
  assert.equal(rounds.filter((name) => name === "one").length, 11);
  assert.ok(Number.isFinite(paired.ratio));
});
