import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@klutch/kube-core";
import { isOverLimit } from "./limits.ts";

const object = (name: string, creationTimestamp: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, creationTimestamp },
});

const [old, b, a] = [
  object("z", "2026-01-01T00:00:00Z"),
  object("b", "2026-01-02T00:00:00Z"),
  object("a", "2026-01-02T00:00:00Z"),
];
const over = (isIn: (one: KubeObject) => boolean, most: number): string =>
  [old, b, a]
    .filter((one) => isOverLimit(one, [b, a, old], isIn, most))
    .map(({ metadata }) => metadata.name)
    .join();

test("the oldest have room; in one second the names decide", () => {
  assert.equal(
    over(() => false, 2),
    "b",
  );
  assert.equal(
    over(() => false, 3),
    "",
  );
  assert.equal(
    over(() => false, 1),
    "b,a",
  );
});

test("an admitted object stays admitted, and takes its room before any waiting one", () => {
  assert.equal(
    over((one) => one === b, 2),
    "a",
  );
  assert.equal(
    over((one) => one === b, 1),
    "z,a",
  );
  assert.equal(
    over(() => true, 1),
    "",
  );
});
