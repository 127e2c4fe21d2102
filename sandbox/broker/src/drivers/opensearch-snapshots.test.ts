import assert from "node:assert/strict";
import { test } from "node:test";
import { readTemplates } from "./opensearch-snapshots.ts";

test("a backup's templates are put as templates only, whatever path it names", () => {
  const good = [
    ["/_component_template/base", { template: {} }],
    ["/_template/old%20one", { index_patterns: ["old-*"] }],
  ];
  assert.deepEqual(readTemplates(JSON.stringify(good)), good);
  for (const lie of [
    ["/_plugins/_security/api/internalusers/mallory", { password: "m" }],
    ["/_index_template/../_plugins/_security/api/account", {}],
    ["/_index_template/a?create=true", {}],
    ["/_index_template/a", "text"],
    ["/_index_template/a"],
    "/_index_template/a",
    null,
  ])
    assert.throws(() => readTemplates(JSON.stringify([lie])), /something else among its templates/);
  assert.throws(() => readTemplates('{"a":1}'), /no list/);
  assert.throws(() => readTemplates("no JSON"), SyntaxError);
});
