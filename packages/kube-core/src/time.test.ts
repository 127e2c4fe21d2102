import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { microTime, wholeSeconds } from "./time.ts";

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

test("a time has whole seconds, a micro time six digits", () => {
  assert.equal(wholeSeconds(now), "2026-01-02T03:04:05Z");
  assert.equal(microTime(now), "2026-01-02T03:04:05.678000Z");
});

test("a printed time is read as the same moment, to its precision, and sorts by time", () => {
  const moment = fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) });
  fc.assert(
    fc.property(moment, moment, (one, other) => {
      assert.equal(Date.parse(wholeSeconds(one)), Math.floor(one / 1000) * 1000);
      assert.equal(Date.parse(microTime(one)), one);
      assert.equal(microTime(one) < microTime(other), one < other);
    }),
  );
});
