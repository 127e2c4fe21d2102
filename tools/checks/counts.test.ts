import assert from "node:assert/strict";
import { test } from "node:test";
import { countLines, countsTable } from "./counts.ts";

const lines = (count: number): string => "x\n".repeat(count);

test("tests, scenarios and the helpers beside them count as tests, and each part for itself", () => {
  const counts = countLines([
    { path: "packages/a/src/a.ts", text: lines(310) },
    { path: "packages/a/src/a.test.ts", text: lines(100) },
    { path: "packages/a/src/testing/fake.ts", text: lines(50) },
    { path: "packages/a/src/a-testing.ts", text: lines(5) },
    { path: "packages/a/src/a.scenario.ts", text: lines(20) },
    { path: "proof/bench/sync.ts", text: lines(7) },
  ]);
  assert.deepEqual(counts, [
    {
      part: "packages/a",
      source: 310,
      tests: 175,
      longest: "310 packages/a/src/a.ts",
      over300: 1,
    },
    {
      part: "proof/bench",
      source: 7,
      tests: 0,
      longest: "7 proof/bench/sync.ts",
      over300: 0,
    },
  ]);
});

test("shipped code, the local fixture, proof and tools have totals of their own", () => {
  const table = countsTable(
    countLines([
      { path: "packages/a/a.ts", text: lines(100) },
      { path: "apps/b/b.ts", text: lines(100) },
      { path: "apps/b/b.test.ts", text: lines(150) },
      { path: "proof/bench/sync.ts", text: lines(1000) },
      { path: "tools/test/main.ts", text: lines(5) },
    ]),
  );
  const [shipped, sandbox, proof, tools] = table.split("\n").slice(-4);
  assert.match(shipped ?? "", /^shipped +200 +150 +0\.75 +0$/);
  assert.match(sandbox ?? "", /^sandbox +0 +0 +- +0$/);
  assert.match(proof ?? "", /^proof +1000 +0 +0\.00 +1$/);
  assert.match(tools ?? "", /^tools +5 +0 +0\.00 +0$/);
});
