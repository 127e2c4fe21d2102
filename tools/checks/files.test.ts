import assert from "node:assert/strict";
import { test } from "node:test";
import {
  incompleteManifests,
  longestFile,
  marked,
  namingMachines,
  namingRegistries,
  tooLong,
} from "./files.ts";

test("a file of 400 lines passes and one more is too long", () => {
  const file = (lines: number): { path: string; text: string } => ({
    path: "a.ts",
    text: "x\n".repeat(lines),
  });
  assert.deepEqual(tooLong([file(longestFile)]), []);
  assert.deepEqual(tooLong([file(longestFile + 1)]), ["a.ts: 401 lines"]);
});

test("a registry's host and a path of one machine are found, each by name", () => {
  const text = `https://registry.${"npmjs"}.org/x and /work/${"main"}/y`;
  assert.deepEqual(namingMachines([{ path: "docs/a.md", text }]), [
    `docs/a.md: registry.${"npmjs"}.org`,
    `docs/a.md: /work/${"main"}`,
  ]);
});

test("an image of a foreign registry is found, one of ours and a page about one are not", () => {
  const found = (text: string): readonly string[] => namingRegistries([{ path: "a.yaml", text }]);
  assert.deepEqual(found(`image: ghcr.${"io"}/x/y:v1`), [`a.yaml: ghcr.${"io"}`]);
  assert.deepEqual(found(`image: public.ecr.${"aws"}/x/y`), [`a.yaml: public.ecr.${"aws"}`]);
  assert.deepEqual(found("image: registry.klutch.example/klutch/konnector:v1"), []);
  assert.deepEqual(found(`somebody's image of ghcr.${"io"} is not ours`), []);
});

test("a marker counts as a word of its own only", () => {
  assert.deepEqual(
    marked([
      { path: "a.ts", text: `// ${"TO"}${"DO"}: later` },
      { path: "b.ts", text: `const ma${"STO"}${"DO"}NT = 1;` },
    ]),
    ["a.ts"],
  );
});

test("a workspace without a description or with another licence is named with the field", () => {
  const good = { version: "0.1.0", license: "Apache-2.0", description: "what it is" };
  const manifest = (fields: object): { path: string; text: string } => ({
    path: "packages/x/package.json",
    text: JSON.stringify(fields),
  });
  assert.deepEqual(incompleteManifests([manifest(good)]), []);
  assert.deepEqual(incompleteManifests([manifest({ ...good, license: "MIT", description: undefined })]), [
    "packages/x/package.json: license",
    "packages/x/package.json: description",
  ]);
});
