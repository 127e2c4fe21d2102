import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTable } from "./table.ts";

test("a table is Markdown with padded columns and numbers on the right", () => {
  const table = formatTable(
    ["metric", "n"],
    [
      ["burst", "5"],
      ["initial sync", "12.5"],
    ],
  );
  assert.equal(
    table,
    [
      "| metric       |    n |",
      "| ------------ | ---: |",
      "| burst        |    5 |",
      "| initial sync | 12.5 |",
    ].join("\n"),
  );
});
