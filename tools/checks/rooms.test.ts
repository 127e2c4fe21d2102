import assert from "node:assert/strict";
import { test } from "node:test";
import { roomViolations } from "./room-check.ts";
import { circlesOf, type HouseRule, importGraph, roomOf } from "./rooms.ts";

const sample: HouseRule = { folder: "app", rooms: [["main.ts"], ["upper/"], ["upper/cellar/", "./"]] };

test("the check of rooms refuses an import upwards and a file without a room, and takes the longest folder", () => {
  assert.deepEqual(
    ["main.ts", "upper/a.ts", "upper/cellar/b.ts", "shared.ts", "attic/c.ts"].map((path) =>
      roomOf(sample, path),
    ),
    [0, 1, 2, 2, undefined],
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
    "app/attic/c.ts is in no room; add its folder to tools/checks/rooms.ts",
  ]);
});

test("the check of circles sees one of three files, and follows packages to their index", () => {
  const file = (path: string, ...imports: readonly string[]): { path: string; text: string } => ({
    path,
    // In two pieces, so that this file does not seem to import them.
    text: imports.map((one) => `${"import"} type { x } from "${one}";`).join("\n"),
  });
  const found = circlesOf(
    importGraph([
      file("packages/a/src/index.ts", "./b.ts"),
      file("packages/a/src/b.ts", "./c.ts", "./leaf.ts"),
      file("packages/a/src/c.ts", "@klutch/a"),
      file("packages/a/src/leaf.ts"),
    ]),
  );
  assert.deepEqual(found, [["packages/a/src/b.ts", "packages/a/src/c.ts", "packages/a/src/index.ts"]]);
});
