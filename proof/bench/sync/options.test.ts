import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBenchOptions } from "./options.ts";

test("without arguments everything is measured in full size with our own agent", () => {
  const { agent, runs, only, sizes } = parseBenchOptions([]);
  assert.equal(agent, undefined);
  assert.deepEqual(
    [runs, only.length, sizes.claims, sizes.burst, sizes.largeClaims],
    [5, 12, 10_000, 300, 1000],
  );
});

test("a small size makes the other numbers smaller, too", () => {
  const { sizes } = parseBenchOptions(["--size", "50"]);
  assert.deepEqual([sizes.burst, sizes.callClaims, sizes.foreignSecrets, sizes.largeClaims], [50, 50, 50, 5]);
});

test("another agent has no metrics unless they are named", () => {
  assert.equal(parseBenchOptions(["--agent", "./other"]).agent?.metricsUrl, undefined);
  const url = "http://127.0.0.1:{port}/metrics";
  assert.equal(parseBenchOptions(["--agent", "./other", "--agent-metrics", url]).agent?.metricsUrl, url);
});

test("unknown cases and numbers that are none are refused", () => {
  assert.throws(() => parseBenchOptions(["--only", "burst,speed"]), /not "speed"/);
  assert.throws(() => parseBenchOptions(["--runs", "many"]), /--runs must be a positive number/);
});
