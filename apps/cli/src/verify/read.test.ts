import assert from "node:assert/strict";
import { test } from "node:test";
import { comparedResources } from "./read.ts";

test("bound APIs are compared first, and what no accepted claim asks for is optional", () => {
  const bound = [{ metadata: { name: "widgets.example.org" } }];
  const claims = [{ group: "example.org", resource: "things", version: "v1" }];
  assert.deepEqual(comparedResources(bound, ["secrets", "things.example.org"], claims), [
    { resource: "widgets.example.org", role: "bound", optional: false },
    { resource: "secrets", role: "claimed", optional: true },
    { resource: "things.example.org", role: "claimed", optional: false },
  ]);
});
