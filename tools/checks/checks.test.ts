import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsIn } from "../generate/page.ts";
import { checks, finders } from "./checks.ts";
import { openTree } from "./tree.ts";

const tree = openTree();

for (const { name, rule, advice, find } of checks) {
  test(rule, async () => {
    assert.deepEqual(await find(tree), [], `npm run check -- ${name}; ${advice}`);
  });
}

test("each check has one row in checks.md, and each row has a check", () => {
  const names = checks.map(({ name }) => name);
  assert.deepEqual(names.toSorted(), Object.keys(finders).toSorted());
  assert.equal(rowsIn("tools/checks/checks.md").length, names.length);
});
