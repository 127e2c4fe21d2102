/** Compares the waits of a tenant before and while another one writes thousands of objects, each with a bare write beside it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { floodBackend, waitsText } from "./testing/flood.ts";

test("1,400 objects of one tenant leave another's new namespace at most twice its quiet time", async (t) => {
  const { quiet, flooded } = await floodBackend();
  const text = `quiet: ${waitsText(quiet)}; during the flood: ${waitsText(flooded)}`;
  t.diagnostic(text);
  const slower = Math.max(1, flooded.writeMs / quiet.writeMs);
  assert.ok(flooded.namespaceMs <= 2 * slower * quiet.namespaceMs, text);
});
