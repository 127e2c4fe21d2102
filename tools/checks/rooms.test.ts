import assert from "node:assert/strict";
import { test } from "node:test";
import type { House } from "./architecture.ts";
import { roomOf, roomViolations } from "./arrows.ts";

const sample: House = { folder: "app", rooms: [["main.ts"], ["upper/"], ["upper/cellar/", "./"]] };

test("the check of rooms refuses an import upwards and a file without a room, and takes the longest folder", () => {
  assert.deepEqual(
    ["main.ts", "upper/a.ts", "upper/cellar/b.ts", "shared.ts", "attic/c.ts"].map((path) =>
      roomOf(sample, path),
    ),
    [0, 1, 2, 2, -1],
  );
  const found = roomViolations(
    sample,
    new Map([
      ["app/main.ts", ["app/upper/a.ts"]],
      ["app/upper/a.ts", ["app/main.ts", "app/upper/cellar/b.ts"]],
      ["app/upper/a.test.ts", ["app/main.ts"]],
      ["app/attic/c.ts", []],
    ]),
  );
  assert.deepEqual(found, [
    "app/upper/a.ts imports app/main.ts, which is above it",
    "app/attic/c.ts is in no room; add its folder to docs/architecture.md",
  ]);
});
