import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseDuration } from "./duration.ts";

test("what Go prints is read", () => {
  const texts = ["0", "0s", "5m0s", "1m30s", "1h", "24h0m0s", "250ms", "1.5h", "1.5s", ".5s", "2.s", "90s"];
  assert.deepEqual(
    texts.map(parseDuration),
    [0, 0, 300_000, 90_000, 3_600_000, 86_400_000, 250, 5_400_000, 1_500, 500, 2_000, 90_000],
  );
  assert.equal(parseDuration("2us"), 0.002);
  assert.equal(parseDuration("2\u00b5s"), 0.002);
  assert.equal(parseDuration("2\u03bcs"), 0.002);
  assert.equal(parseDuration("1000000ns"), 1);
});

test("text that is no duration is refused, and so is one that is negative", () => {
  for (const text of ["", "soon", "10", "10x", "m", "-5s", "+5s", "1m30", "1 m", "5s ", "1d", ".s", "1.5.5h"])
    assert.equal(parseDuration(text), undefined, text);
});

test("a duration is the sum of its parts, in any order", () => {
  const count = fc.nat(100_000);
  fc.assert(
    fc.property(count, count, count, count, (hours, minutes, seconds, millis) => {
      const parts = [`${hours}h`, `${minutes}m`, `${seconds}s`, `${millis}ms`];
      const sum = hours * 3_600_000 + minutes * 60_000 + seconds * 1_000 + millis;
      assert.equal(parseDuration(parts.join("")), sum);
      assert.equal(parseDuration(parts.toReversed().join("")), sum);
    }),
  );
});
