import assert from "node:assert/strict";
import { test } from "node:test";
import { incompleteManifests, lineRules, linesAgainst, missingPages } from "./texts.ts";

const found = (rule: keyof typeof lineRules, ...lines: readonly string[]): readonly string[] =>
  linesAgainst(lineRules[rule], [{ path: "a.ts", text: lines.join("\n") }]);

test("a registry's host and a path of one machine are found, each with its line", () => {
  const host = `https://registry.${"npmjs"}.org/x`;
  const path = `see /work/${"main"}/y`;
  assert.deepEqual(found("hosts", host, "", path), [`a.ts:1: ${host}`, `a.ts:3: ${path}`]);
  for (const name of [
    `proxy.${"golang"}.org`,
    `deb.${"debian"}.org`,
    `repo1.${"maven"}.org`,
    `pypi.${"org"}`,
  ])
    assert.equal(found("hosts", name).length, 1, name);
  for (const name of [`/root/${"go"}`, `/tmp/${"eng"}`]) assert.equal(found("hosts", name).length, 1, name);
});

test("an image of a foreign registry is found, one of ours and a page about one are not", () => {
  for (const host of [
    `ghcr.${"io"}`,
    `public.ecr.${"aws"}`,
    `docker.${"io"}`,
    `quay.${"io"}`,
    `gcr.${"io"}`,
    `registry.k8s.${"io"}`,
    `mcr.microsoft.${"com"}`,
    `xpkg.crossplane.${"io"}`,
    `xpkg.upbound.${"io"}`,
  ])
    assert.deepEqual(found("registries", `image: ${host}/x/y:v1`), [`a.ts:1: image: ${host}/x/y:v1`]);
  assert.deepEqual(found("registries", "image: registry.klutch.example/klutch/konnector:v1"), []);
  assert.deepEqual(found("registries", `somebody's image of ghcr.${"io"} is not ours`), []);
});

test("a section, a number of a defect and a document from elsewhere are found", () => {
  const section = "\u{a7}";
  const lines = [
    `// as ${["DES", "IGN"].join("")} has it`,
    `// as ${["HO", "USE"].join("")} and ${["ST", "YLE"].join("")} have it`,
    `// ${section}4.2 says so`,
    `test("${"S"}1: nothing goes up")`,
    `// (${"B"}24) and (${"B"}3, ${"S"}9)`,
    `// a ${["def", "ect"].join("")} 12`,
    `// in this ${["is", "sue"].join("")}`,
    `// ${["is", "sue"].join("")} #4`,
    `/** See the module ${"comment"}. */`,
  ];
  assert.equal(found("citations", ...lines).length, lines.length);
});

test("public standards, our own pages and ordinary words may be named", () => {
  assert.deepEqual(
    found(
      "citations",
      `// OpenID Connect Core 1.0 \u{a7}3.1.3.7`,
      "// see docs/reference/names.md and designs/0005",
      "// S3 and B2 are names of stores",
      "// a defect that was fixed",
    ),
    [],
  );
});

test("a page is searched for from the root and from where it is named", () => {
  const paths = new Set(["docs/a.md", "proof/bench/RESULTS.md", "designs/0001-x.md"]);
  const text = "docs/a.md, RESULTS.md, designs/0001 and designs/0009, b.md, https://x.test/c.md";
  assert.deepEqual(missingPages([{ path: "proof/bench/x.ts", text }], paths), [
    "proof/bench/x.ts: designs/0009",
    "proof/bench/x.ts: b.md",
  ]);
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
