import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type CallSnapshot,
  callsBetween,
  describeCalls,
  isFailed,
  isOfSync,
  isWrite,
  totalOf,
} from "./calls.ts";

const snapshot = (byAgent: number, byKind: Record<string, number>): CallSnapshot => ({
  byAgent,
  byKind: new Map(Object.entries(byKind)),
  watches: 0,
});

test("only what changed between two snapshots counts", () => {
  const before = snapshot(4, { "APPLY bench.klutch.example/widgets 200": 3, "GET /secrets 200": 1 });
  const after = snapshot(9, {
    "APPLY bench.klutch.example/widgets 200": 5,
    "GET /secrets 200": 1,
    "PATCH bench.klutch.example/widgets/status 409": 1,
  });
  const { byAgent, byKind } = callsBetween(before, after);
  assert.equal(byAgent, 5);
  assert.equal(totalOf(byKind), 3);
  assert.equal(totalOf(byKind.filter(isFailed)), 1);
  assert.equal(describeCalls(byKind), "2 APPLY widgets 200, 1 PATCH widgets/status 409");
});

test("an API server's own calls are not taken for the agent's", () => {
  const call = (verb: string, resource: string) => ({ verb, resource, code: "200", count: 1 });
  assert.equal(isOfSync(call("PUT", "coordination.k8s.io/leases")), false);
  assert.equal(isOfSync(call("WATCH", "bench.klutch.example/widgets")), false);
  assert.equal(isOfSync(call("POST", "events.k8s.io/events")), true);
  assert.equal(isOfSync(call("GET", "/secrets")), true);
  assert.deepEqual([isWrite(call("APPLY", "")), isWrite(call("LIST", ""))], [true, false]);
});
