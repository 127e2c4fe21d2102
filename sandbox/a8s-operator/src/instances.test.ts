import assert from "node:assert/strict";
import { test } from "node:test";
import { readinessOf } from "./instances.ts";

test("an instance is ready when as many standbys follow as were asked for", () => {
  assert.equal(readinessOf(1, 0).isReady, true);
  assert.equal(readinessOf(3, 2).isReady, true);
  const waiting = readinessOf(3, 1);
  assert.equal(waiting.isReady, false);
  assert.match(waiting.message ?? "", /^2 of 3 servers are there/);
});

test("where PostgreSQL cannot copy servers, one server is ready, and more are refused with what to do", () => {
  assert.equal(readinessOf(1, undefined).isReady, true);
  const refused = readinessOf(3, undefined);
  assert.equal(refused.reason, "OneServer");
  assert.match(
    refused.message ?? "",
    /spec\.replicas is 3, .* has no pg_basebackup; install .* postgresql-15/,
  );
});
