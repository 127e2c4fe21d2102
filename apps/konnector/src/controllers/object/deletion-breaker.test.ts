import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { DeletionBreaker } from "./deletion-breaker.ts";

const make = (): DeletionBreaker =>
  new DeletionBreaker({ clock: systemClock, limit: 100, onChange: () => {} });
const ending = "2026-01-01T00:00:00Z";

test("the deletion of a CRD holds at once, and once released that one does not hold again", () => {
  const breaker = make();
  breaker.holdForCrd("widgets.example.org", ending);
  assert.ok(!breaker.admit());
  breaker.release();
  breaker.holdForCrd("widgets.example.org", ending);
  assert.ok(breaker.admit());
  breaker.holdForCrd("widgets.example.org", "2026-01-02T00:00:00Z");
  assert.ok(!breaker.admit());
});

test("a release that an earlier process was given counts for this one", () => {
  const breaker = make();
  breaker.releaseCrd(ending);
  breaker.holdForCrd("widgets.example.org", ending);
  assert.ok(breaker.admit());
});
