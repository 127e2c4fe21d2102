import assert from "node:assert/strict";
import { test } from "node:test";
import { Places } from "./places.ts";
import { createTenantLimits } from "./tenant-limits.ts";

test("an account gets its places and no more, and another account's are its own", () => {
  const places = new Places(2);
  const [one, two] = [places.take("red"), places.take("red")];
  assert.equal(places.take("red"), undefined);
  assert.ok(places.take("blue"));
  assert.ok(one !== undefined && two !== undefined);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  assert.ok(places.take("red"), "a place that was given back is free");
  assert.equal(places.take("red"), undefined, "given back twice, it is still one place");
});

test("an account without places is forgotten", () => {
  const places = new Places(10);
  const held = [places.take("red", 4), places.take("red", 6)];
  assert.equal(places.take("red", 1), undefined);
  for (const place of held) place?.[Symbol.dispose]();
  assert.equal(places.accounts, 0);
});

test("a refusal is a 429 that says which limit it is and when to come back", () => {
  const take = createTenantLimits({ mostWatches: 1, mostPassedWatches: 1, mostRequests: 1 });
  for (const [kind, flag, seconds] of [
    ["watch", "--max-watches", 5],
    ["passedWatch", "--max-passed-watches", 5],
    ["request", "--max-requests", 1],
  ] as const) {
    assert.equal(take(kind, "red").refusal, undefined);
    const { refusal } = take(kind, "red");
    assert.deepEqual([refusal?.code, refusal?.retryAfterSeconds], [429, seconds]);
    assert.match(
      refusal?.message ?? "",
      new RegExp(`has 1 .*, the most that ${flag} allows; try again later`),
    );
    assert.equal(take(kind, "blue").refusal, undefined);
  }
});

test("bodies of one account are bounded by their bytes", () => {
  const take = createTenantLimits({});
  const mebibyte = 1024 * 1024;
  const held = Array.from({ length: 32 }, () => take("body", "red", mebibyte));
  assert.ok(held.every(({ refusal }) => refusal === undefined));
  assert.match(take("body", "red", 1).refusal?.message ?? "", /sends more than 33554432 bytes/);
});

test("unread answers of one account are bounded by their bytes, and another's are its own", () => {
  const take = createTenantLimits({});
  const held = take("unread", "red", 32 * 1024 * 1024);
  assert.equal(held.refusal, undefined);
  assert.notEqual(take("unread", "red", 1).refusal, undefined);
  assert.equal(take("unread", "blue", 1).refusal, undefined);
});
