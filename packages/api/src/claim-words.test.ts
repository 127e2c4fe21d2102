import assert from "node:assert/strict";
import { test } from "node:test";
import { claimedObjects } from "./claim-words.ts";

test("each selector is shown as it is written", () => {
  const names = ["a", "b"];
  const namespaces = ["n"];
  const fieldSelectors = ["type=Opaque,metadata.name!=x", "metadata.labels.service-binding=true"];
  const labelSelectors = [{ app: "db", tier: "x" }, { app: "web" }];
  assert.deepEqual(claimedObjects({ names, namespaces, labelSelectors, fieldSelectors }), {
    names,
    namespaces,
    labels: ["app=db,tier=x", "app=web"],
    fields: fieldSelectors,
  });
});

test("what restricts nothing is left out: no selector, a star, labels that any object has", () => {
  const nothing = { names: [], namespaces: [], labels: [], fields: [] };
  assert.deepEqual(claimedObjects(undefined), nothing);
  const names = ["a", "*"];
  assert.deepEqual(
    claimedObjects({ names, namespaces: names, labelSelectors: [{ app: "db" }, {}] }),
    nothing,
  );
});

test("foreign words add no lines and no colours", () => {
  const hostile = "a\u001b[2J\nb\u202e";
  const list = [hostile];
  const { names, namespaces, labels, fields } = claimedObjects({
    names: list,
    namespaces: list,
    labelSelectors: [{ [hostile]: hostile }],
    fieldSelectors: list,
  });
  for (const text of [names, namespaces, labels, fields].flat()) assert.match(text, /^[\x20-\x7e]+$/);
});
