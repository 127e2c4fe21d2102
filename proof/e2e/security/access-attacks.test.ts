/** Holds access-attacks.md against the tree: each test that it names exists. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../../..");
const list = readFileSync(join(import.meta.dirname, "access-attacks.md"), "utf8");

/** Returns the rows whose test does not exist, with the reason. */
function missingIn(text: string): readonly string[] {
  return rowsOf(text).flatMap(({ attack, file, name }) => {
    const source = readSource(file);
    if (source === undefined) return [`${attack}: no file ${file}`];
    const isThere = ['test("', "test(`"].some((start) => source.includes(start + name));
    return isThere ? [] : [`${attack}: ${file} has no test whose name begins with: ${name}`];
  });
}

function rowsOf(text: string): readonly { attack: string; file: string; name: string }[] {
  return [...text.matchAll(/^\| (.*) \| `([^`]*)` \| `([^`]*)` \|$/gm)].map(
    ([, attack = "", file = "", name = ""]) => ({ attack, file, name }),
  );
}

function readSource(file: string): string | undefined {
  if (!file.endsWith(".test.ts")) return undefined;
  try {
    return readFileSync(join(root, file), "utf8");
  } catch {
    return undefined;
  }
}

test("each attack on access names a test that exists", () => {
  assert.deepEqual(missingIn(list), []);
  // A row of another shape would not be looked at.
  const rows = list.split("\n").filter((line) => /^\| (?!attack|input)/.test(line));
  assert.ok(rows.length >= 40, `${rows.length} rows`);
  assert.equal(rowsOf(list).length, rows.length);
});

test("a file or a test that does not exist is named", () => {
  const own = "proof/e2e/security/access-attacks.test.ts";
  const row = (file: string, name: string): string => `| an attack | \`${file}\` | \`${name}\` |`;
  const good = row(own, "a file or a test that does not exist");
  const lies = [row("proof/nothing.test.ts", "x"), row(own, "a test with this name")];
  assert.deepEqual(missingIn([good, ...lies].join("\n")), [
    "an attack: no file proof/nothing.test.ts",
    `an attack: ${own} has no test whose name begins with: a test with this name`,
  ]);
});
