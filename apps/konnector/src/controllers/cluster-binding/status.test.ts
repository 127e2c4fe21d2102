import assert from "node:assert/strict";
import { test } from "node:test";
import { klutchVersion } from "@klutch/api";
import { parseDuration, trueCondition } from "@klutch/kube-core";
import { defaultTiming } from "../../clusters.ts";
import { statusOf } from "./status.ts";

const now = Date.parse("2026-01-01T00:10:00Z");
const conditions = [trueCondition("ValidVersion")];
const { heartbeatMs } = defaultTiming;

test("a heartbeat that is due gets the present time, and the version and the promised interval stand beside it", () => {
  const binding = { status: { lastHeartbeatTime: "2026-01-01T00:05:00Z", conditions: [] } };
  const status = statusOf(binding, { conditions, renewalKey: undefined, now, heartbeatMs });
  assert.equal(status.lastHeartbeatTime, "2026-01-01T00:10:00Z");
  assert.equal(status.konnectorVersion, klutchVersion);
  assert.equal(status.heartbeatInterval, "55s");
  assert.deepEqual(
    status.conditions?.map(({ type, status: value }) => [type, value]),
    [
      ["Ready", "True"],
      ["ValidVersion", "True"],
    ],
  );
});

test("a younger heartbeat stays, and so does a renewal key that no one replaces", () => {
  const lastHeartbeatTime = "2026-01-01T00:09:30Z";
  const binding = { status: { lastHeartbeatTime, renewalKey: "old", conditions: [] } };
  const kept = statusOf(binding, { conditions, renewalKey: undefined, now, heartbeatMs });
  assert.equal(kept.lastHeartbeatTime, lastHeartbeatTime);
  assert.equal(kept.renewalKey, "old");
  assert.equal(statusOf(binding, { conditions, renewalKey: "new", now, heartbeatMs }).renewalKey, "new");
});

test("a konnector that dies right after a heartbeat is missed within two minutes, and one heartbeat may be late by more than its time", () => {
  const binding = { status: { conditions: [] } };
  const { heartbeatInterval = "" } = statusOf(binding, {
    conditions,
    renewalKey: undefined,
    now,
    heartbeatMs,
  });
  const timeoutMs = 2 * (parseDuration(heartbeatInterval) ?? Number.NaN);
  assert.ok(timeoutMs + 1_000 < 120_000, `${timeoutMs}`);
  assert.ok(timeoutMs >= 2.5 * heartbeatMs, `${timeoutMs}`);
});
