import assert from "node:assert/strict";
import { test } from "node:test";
import { CopyQuota } from "./copy-quota.ts";

test("a namespace gets as many copies as the limit says, others are not affected", () => {
  const quota = new CopyQuota(2);
  assert.deepEqual(
    ["a/1", "a/2", "a/3", "b/1", "x"].map((key) => quota.admit(key)),
    [true, true, false, true, true],
  );
  assert.ok(quota.admit("a/1"), "one that has its place keeps it");
});

test("a place that comes free goes to who was refused", () => {
  const quota = new CopyQuota(1);
  for (const key of ["a/1", "a/2"]) quota.admit(key);
  assert.equal(quota.next("a/2", true), undefined);
  quota.remove("a/1");
  assert.deepEqual(quota.next("a/1", false), { key: "a/2" });
  assert.ok(quota.admit("a/2"));
  assert.equal(quota.next("a/2", false), undefined);
});

test("who no longer wants a place does not keep others from it", () => {
  const quota = new CopyQuota(2);
  for (const key of ["a/1", "a/2", "a/3", "a/4"]) quota.admit(key);
  quota.remove("a/1");
  assert.deepEqual(quota.next("a/1", false), { key: "a/3" });
  assert.deepEqual(quota.next("a/3", false), { key: "a/4" }, "a/3 was reconciled and is gone");
});

test("of more than are remembered anyone may come when a place is free, and everyone is reconciled once", () => {
  const quota = new CopyQuota(1);
  for (const key of ["a/1", "a/2", "a/3"]) quota.admit(key);
  quota.remove("a/1");
  assert.deepEqual(quota.next("a/1", false), { key: "a/2" });
  assert.equal(quota.next("a/2", false), "anyone");
  assert.equal(quota.next("a/2", false), undefined);
});

test("without a limit no one is refused", () => {
  const quota = new CopyQuota(0);
  for (let index = 0; index < 5_000; index++) assert.ok(quota.admit(`a/${index}`));
});
