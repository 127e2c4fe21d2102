import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseQuantity, sameQuantity } from "./quantity.ts";

test("a quantity is a number with a suffix of Kubernetes, decimal or binary", () => {
  const texts = ["500m", "1", "128Mi", "1e3", "1E3", "2E", "0.5", ".5", "5.", "-1k", "+1Ki", "3u", "4n"];
  assert.deepEqual(texts.map(parseQuantity), [
    0.5,
    1,
    128 * 1024 * 1024,
    1000,
    1000,
    2e18,
    0.5,
    0.5,
    5,
    -1000,
    1024,
    3 * 1e-6,
    4 * 1e-9,
  ]);
  assert.equal(parseQuantity(2), 2);
});

test("text that is no quantity is refused", () => {
  for (const value of ["", "much", "1 Mi", "1mi", "1KB", "0x10", "Mi", null, undefined, {}, true])
    assert.equal(parseQuantity(value), undefined, JSON.stringify(value));
});

test("one amount in two forms is the same, another amount is not", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), (amount) => {
      assert.ok(sameQuantity(`${amount * 1000}m`, amount));
      assert.ok(sameQuantity(`${amount}Ki`, `${amount * 1024}`));
      assert.ok(sameQuantity(`${amount}k`, `${amount * 1000}`));
      assert.ok(!sameQuantity(amount, amount + 1));
    }),
  );
  assert.ok(sameQuantity("0.1", "100m"));
  assert.ok(!sameQuantity("much", "much"));
  assert.ok(!sameQuantity(undefined, 0));
});
