import assert from "node:assert/strict";
import { test } from "node:test";
import { countLines, countsTable } from "./counts.ts";

const lines = (count: number): string => "x\n".repeat(count);

test("tests and the helpers beside them count as tests, and each part for itself", () => {
  const counts = countLines([
    { path: "packages/a/src/a.ts", text: lines(310) },
    { path: "packages/a/src/a.test.ts", text: lines(100) },
    { path: "packages/a/src/testing/fake.ts", text: lines(50) },
    { path: "packages/a/src/a-testing.ts", text: lines(5) },
    { path: "bench/sync.ts", text: lines(7) },
  ]);
  assert.deepEqual(counts, [
    {
      part: "packages/a",
      source: 310,
      tests: 155,
      longest: { path: "packages/a/src/a.ts", lines: 310 },
      over300: 1,
    },
    { part: "bench", source: 7, tests: 0, longest: { path: "bench/sync.ts", lines: 7 }, over300: 0 },
  ]);
});

test("the total leaves out what is not shipped", () => {
  const table = countsTable(
    countLines([
      { path: "packages/a/a.ts", text: lines(100) },
      { path: "apps/b/b.ts", text: lines(100) },
      { path: "apps/b/b.test.ts", text: lines(150) },
      { path: "bench/sync.ts", text: lines(1000) },
    ]),
  );
  assert.match(table.split("\n").at(-1) ?? "", /^packages, apps, services +200 +150 +0\.75 +0$/);
});
