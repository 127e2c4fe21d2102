import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceType } from "./resource-type.ts";
import * as resources from "./resources.ts";

const all: readonly (readonly [string, ResourceType])[] = Object.entries(resources);

test("each constant is called like its resource", () => {
  for (const [name, { plural }] of all) assert.equal(name.toLowerCase(), plural);
});

test("no resource stands twice", () => {
  const names = all.map(([, { group, plural }]) => `${plural}.${group}`);
  assert.equal(new Set(names).size, names.length);
});
