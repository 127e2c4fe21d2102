import assert from "node:assert/strict";
import { basename } from "node:path";
import { test } from "node:test";
import { circlesOf, houseRules, type HouseRule, importGraph, roomOf } from "./rooms.ts";
import { isHandWritten, sourceFiles } from "./source-files.ts";

const graph = importGraph(sourceFiles(isHandWritten));

/** Tests and their helpers stand outside of the house and look into every room. */
function isTestSupport(path: string): boolean {
  return path.endsWith(".test.ts") || path.includes("/testing/");
}

/** What is wrong with the imports of one part. */
function violations(rule: HouseRule, files: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const inside = (path: string): string | undefined =>
    path.startsWith(`${rule.folder}/`) ? path.slice(rule.folder.length + 1) : undefined;
  return [...files].flatMap(([from, targets]) => {
    const path = inside(from);
    if (path === undefined || isTestSupport(from)) return [];
    const room = roomOf(rule, path);
    if (room === undefined) return [`${from} is in no room; add its folder to tools/checks/rooms.ts`];
    return targets.flatMap((to) => {
      const target = inside(to);
      const below = target === undefined ? undefined : roomOf(rule, target);
      return below !== undefined && below < room ? [`${from} imports ${to}, which is above it`] : [];
    });
  });
}

/** Circles of the backend that are being cut while its files move; by the files' own names. */
const knownCircles = new Set(["context.ts, konnector-deployment.ts", "id-token.ts, identity-provider.ts"]);

test("no file imports itself by way of others, not even for types", () => {
  const circles = circlesOf(graph).filter(
    (files) => !knownCircles.has(files.map((path) => basename(path)).join(", ")),
  );
  assert.deepEqual(circles, []);
});

for (const rule of houseRules) {
  test(`the rooms of ${rule.folder} import only downwards`, () => {
    assert.deepEqual(violations(rule, graph), []);
  });
}

const sample: HouseRule = { folder: "app", rooms: [["main.ts"], ["upper/"], ["upper/cellar/", "./"]] };

test("the check of rooms refuses an import upwards and a file without a room, and takes the longest folder", () => {
  assert.deepEqual(
    ["main.ts", "upper/a.ts", "upper/cellar/b.ts", "shared.ts", "attic/c.ts"].map((path) =>
      roomOf(sample, path),
    ),
    [0, 1, 2, 2, undefined],
  );
  const found = violations(
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
