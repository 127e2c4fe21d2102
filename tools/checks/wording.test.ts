import assert from "node:assert/strict";
import { test } from "node:test";
import { countsText, countWords, isProse, risenCounts, total } from "./wording.ts";

const file = (path: string, text: string): { readonly path: string; readonly text: string } => ({
  path,
  text,
});

test("counts each phrase in its top folder, also across the lines of a comment", () => {
  const counts = countWords([
    file("apps/a.ts", "/** What it does.\n *  Nobody knows so\n * many. */"),
    file("apps/b.ts", "// started anew, and anew"),
    file("README.md", "the page that there\nis"),
  ]);
  assert.deepEqual(counts, {
    apps: { "/** What": 1, nobody: 1, "so many": 1, anew: 2 },
    ".": { "that there is": 1 },
  });
});

test("counts the first word of a comment that begins on its second line", () => {
  assert.deepEqual(countWords([file("apps/a.ts", "  /**\n   * Of the two.\n   */")]), {
    apps: { "/** Of": 1 },
  });
});

test("a word in the middle of another word or sentence is no phrase", () => {
  assert.deepEqual(countWords([file("apps/a.ts", "/** Offers renewal, somewhat isolated. What a day. */")]), {
    apps: {},
  });
});

test("a count that fell is fine, one that rose names the added line and better wording", () => {
  const recorded = { apps: { nobody: 2, anew: 1 } };
  assert.deepEqual(
    risenCounts(recorded, { apps: { nobody: 1 } }, () => []),
    [],
  );
  const [problem = "", ...others] = risenCounts(recorded, { apps: { nobody: 3 } }, () => [
    file("apps/a.ts", "// nobody asks"),
    file("apps/a.ts", "// all ask"),
    file("docs/a.md", "nobody reads"),
  ]);
  assert.deepEqual(others, []);
  assert.match(problem, /^apps: "nobody" 3 times, 2 recorded; write instead: .*"no one"/);
  assert.match(problem, /\napps\/a\.ts: \/\/ nobody asks$/);
});

test("a folder without recorded counts may not use a phrase", () => {
  assert.equal(risenCounts({}, { apps: { anew: 1 } }, () => []).length, 1);
});

test("generated files and the files of this check do not count", () => {
  assert.deepEqual(
    ["apps/a.ts", "docs/a.md", "packages/a/src/gen/a.ts", "tools/checks/wording.ts", "a.yaml"].map(isProse),
    [true, true, false, false, false],
  );
});

test("the data file is sorted and leaves out folders without a phrase", () => {
  const text = countsText({ docs: { nobody: 1, anew: 2 }, apps: { anew: 1 }, tools: {} });
  assert.deepEqual(Object.keys(JSON.parse(text) as object), ["apps", "docs"]);
  assert.match(text, /"anew": 2,\n {4}"nobody": 1/);
});

test("a phrase's total adds up the folders", () => {
  assert.equal(total({ docs: { nobody: 1 }, apps: { nobody: 2 }, tools: { anew: 1 } }, "nobody"), 3);
});
