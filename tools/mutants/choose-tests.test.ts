import assert from "node:assert/strict";
import { test } from "node:test";
import { groupsOf, importersOf, testsFor } from "./choose-tests.ts";

const tree = Object.entries({
  "packages/a/src/index.ts": 'export { x } from "./x.ts";',
  "packages/a/src/x.ts": "export const x = 1;",
  "packages/a/src/x.test.ts": 'import { x } from "./x.ts";',
  "packages/a/src/far/y.test.ts": 'import { x } from "../x.ts";',
  "packages/b/src/z.ts": 'import { x } from "@klutch/a";',
  "packages/b/src/index.ts": 'export { type Z, z } from "./z.ts";\nexport { w } from "./w.ts";',
  "packages/b/src/w.ts": "",
  "packages/b/src/types.test.ts":
    'import type { x } from "@klutch/a";\nimport { type x as y } from "@klutch/a";',
  "packages/b/src/w.test.ts": 'import { type Z, w } from "@klutch/b";',
  "packages/b/src/zw.test.ts": 'import {\n  w,\n  z as v,\n} from "@klutch/b";',
  "packages/b/src/z.test.ts": 'import { z } from "./z.ts";',
  "packages/b/src/other.test.ts": "",
  "packages/b/src/z.long.test.ts": 'import { z } from "./z.ts";',
  "apps/c/src/main.ts": 'import { x } from "@klutch/a";',
  "apps/c/src/process.real.test.ts": 'const main = join(import.meta.dirname, "main.ts");',
  "proof/e2e/start.ts": 'run(ownProgram("c"));',
  "proof/e2e/all.ts": "run(ownProgram(name));",
  "proof/e2e/one.real.test.ts": 'import { start } from "./start.ts";',
  "proof/e2e/two.real.test.ts": 'import { start } from "./all.ts";',
  "proof/e2e/words.test.ts": 'join(root, "apps", "c", "src", "main.ts")',
  "tools/checks/checks.test.ts": 'import { x } from "@klutch/a";',
}).map(([path, text]) => ({ path, text }));

test("tests that load a file or start a program that does are chosen, nearest first", () => {
  const tests = testsFor("packages/a/src/x.ts", importersOf(tree));
  assert.deepEqual(tests.pure, [
    "packages/a/src/x.test.ts",
    "packages/a/src/far/y.test.ts",
    "packages/b/src/z.test.ts",
    "packages/b/src/zw.test.ts",
    "proof/e2e/words.test.ts",
  ]);
  assert.deepEqual(tests.real, [
    "apps/c/src/process.real.test.ts",
    "proof/e2e/one.real.test.ts",
    "proof/e2e/two.real.test.ts",
  ]);
  assert.deepEqual(tests.long, ["packages/b/src/z.long.test.ts"]);
});

test("the tests of the file's own folder run first, then the others", () => {
  const { pure } = testsFor("packages/a/src/x.ts", importersOf(tree));
  assert.deepEqual(groupsOf("packages/a/src/x.ts", pure), [pure.slice(0, 1), pure.slice(1)]);
  assert.deepEqual(groupsOf("packages/a/src/x.ts", []), []);
});
