import assert from "node:assert/strict";
import { test } from "node:test";
import { shownBytes } from "./shown-bytes.ts";

test("sizes are shown in the largest unit that fits, rounded down", () => {
  const sizes = [0n, 1_023n, 1_024n, 1_600n, 2n ** 30n - 1n, 7n * 2n ** 30n, 2n ** 50n, 2n ** 80n];
  assert.deepEqual(sizes.map(shownBytes), [
    "0 B",
    "1023 B",
    "1.0 KiB",
    "1.5 KiB",
    "1023.9 MiB",
    "7.0 GiB",
    "1.0 PiB",
    "1048576.0 EiB",
  ]);
});
