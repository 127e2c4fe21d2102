/** Compares the waits of a tenant before and while another one writes thousands of objects: a ratio that only a machine without other work shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { floodBackend } from "./testing/flood.ts";

test("1,400 objects of one tenant leave another's new namespace at most twice its quiet time", async (t) => {
  const { quietMs, floodMs } = await floodBackend();
  t.diagnostic(`quiet ${quietMs} ms, during the flood ${floodMs} ms`);
  assert.ok(floodMs <= 2 * quietMs, `${floodMs} ms after ${quietMs} ms`);
});
