import assert from "node:assert/strict";
import { test } from "node:test";
import { describeKinds, isRequest, rateOf } from "./figures.ts";

const entry = (at: number, kind = "watch") => ({ at, kind });

test("a rate counts what lies in its time, by seconds and by tenths", () => {
  const entries = [entry(999), entry(1_000), entry(1_050), entry(1_990), entry(2_000), entry(4_000)];
  assert.deepEqual(rateOf(entries, 1_000, 3), {
    total: 4,
    perSecond: [3, 1, 0],
    mostInSecond: 3,
    mostInTenth: 2,
  });
});

test("kinds are named with the most frequent first, and a refused connection is no request", () => {
  const entries = [entry(1, "refused"), entry(2), entry(3), entry(4, "429")];
  assert.equal(describeKinds(entries), "2 watch, 1 refused, 1 429");
  assert.equal(entries.filter(isRequest).length, 2);
});
