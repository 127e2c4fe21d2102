import assert from "node:assert/strict";
import { test } from "node:test";
import { survivorsText, table, type Verdict } from "./report.ts";

function verdict(id: string, outcome: Verdict["outcome"]): Verdict {
  const [file = "", , , mutator = ""] = id.split(":");
  const caughtBy = outcome === "survived" ? "" : `${file}.test.ts: it`;
  return { id, part: "packages/a", file, mutator, before: "a", after: "b", outcome, caughtBy, seconds: 1 };
}

test("the table counts by part, and survivors are shown as diffs", () => {
  const verdicts = [verdict("x.ts:1:1:drop", "pure"), verdict("y.ts:1:1:drop", "survived")];
  assert.match(table(verdicts), /^packages\/a +2 +1 +0 +1$/m);
  assert.match(table(verdicts), /^total +2 +1 +0 +1$/m);
  assert.equal(survivorsText(verdicts), "Survivors:\ny.ts:1:1:drop\n    - a\n    + b");
  assert.equal(survivorsText(verdicts.slice(0, 1)), "No mutant survived.");
});
