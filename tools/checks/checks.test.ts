import assert from "node:assert/strict";
import { test } from "node:test";
import { checks } from "./checks.ts";
import { openTree } from "./tree.ts";

const tree = openTree();

for (const { name, rule, advice, find } of checks) {
  test(rule, async () => {
    assert.deepEqual(await find(tree), [], `npm run check -- ${name}; ${advice}`);
  });
}

test("each check has a name of its own", () => {
  const names = checks.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
});
