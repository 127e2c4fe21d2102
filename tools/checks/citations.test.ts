import assert from "node:assert/strict";
import { test } from "node:test";
import { missingPages, uncitable } from "./citations.ts";

const lines = (...texts: readonly string[]): readonly string[] =>
  uncitable([{ path: "a.ts", text: texts.join("\n") }]);

test("a section, a number of a defect and a document from elsewhere are found", () => {
  const section = "\u{a7}";
  assert.deepEqual(
    lines(
      `// as ${["DES", "IGN"].join("")} has it`,
      `// ${section}4.2 says so`,
      `test("${"S"}1: nothing goes up")`,
      `// (${"B"}24) and (${"B"}3, ${"S"}9)`,
      `// a ${["def", "ect"].join("")} 12`,
      `/** See the module ${"comment"}. */`,
    ).length,
    6,
  );
});

test("public standards, our own pages and ordinary words may be named", () => {
  assert.deepEqual(
    lines(
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
