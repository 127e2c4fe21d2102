import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterBinding } from "@klutch/api";
import {
  falseCondition,
  type NewCondition,
  setConditions,
  trueCondition,
  wholeSeconds,
} from "@klutch/kube-core";
import { Heartbeats } from "./heartbeats.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const key = "cluster-a/cluster";

function binding(
  lastHeartbeatTime: string,
  condition: NewCondition = trueCondition("Healthy"),
  more: Partial<ClusterBinding["status"]> = {},
): ClusterBinding {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace: "cluster-a", name: "cluster", resourceVersion: lastHeartbeatTime },
    spec: { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "Test" },
    status: {
      lastHeartbeatTime,
      heartbeatInterval: "55s",
      conditions: setConditions([], [condition], start),
      ...more,
    },
  };
}
const at = (ms: number): string => wholeSeconds(start + ms);

function fixture(): { readonly clock: { ms: number }; readonly heartbeats: Heartbeats } {
  const clock = { ms: 0 };
  return { clock, heartbeats: new Heartbeats({ now: () => start + clock.ms }) };
}
const { now: reasonAt } = {
  now: (heartbeats: Heartbeats, object: ClusterBinding): string =>
    heartbeats.judge(key, object).condition.reason ?? "Healthy",
};

test("silence counts from when a heartbeat was seen here, so that clocks of app clusters do not matter", () => {
  for (const skewMs of [-1_800_000, 0, 1_800_000]) {
    const { clock, heartbeats } = fixture();
    heartbeats.judge(key, binding(at(skewMs - 40_000)));
    clock.ms = 100_000;
    const object = binding(at(skewMs));
    assert.equal(reasonAt(heartbeats, object), "Healthy");
    clock.ms += 110_000;
    assert.equal(reasonAt(heartbeats, object), "Healthy");
    clock.ms += 1_001;
    assert.equal(reasonAt(heartbeats, object), "HeartbeatTimeout");
  }
});

test("a konnector with a longer interval gets twice that time", () => {
  const { clock, heartbeats } = fixture();
  const old = binding(at(0), trueCondition("Healthy"), { heartbeatInterval: "5m0s" });
  heartbeats.judge(key, old);
  clock.ms = 599_000;
  assert.equal(reasonAt(heartbeats, old), "Healthy");
  clock.ms = 602_000;
  assert.equal(reasonAt(heartbeats, old), "HeartbeatTimeout");
});

test("a backend that starts believes what it finds: a healthy binding has one more time-out, and one that is silent stays so", () => {
  const { clock, heartbeats } = fixture();
  const healthy = binding(at(-90_000));
  assert.equal(reasonAt(heartbeats, healthy), "Healthy");
  clock.ms = 112_000;
  assert.equal(reasonAt(heartbeats, healthy), "HeartbeatTimeout");
  const silent = binding(at(-200_000), falseCondition("Healthy", "HeartbeatTimeout", "Error", "silent"));
  assert.equal(heartbeats.judge("cluster-b/cluster", silent).condition.reason, "HeartbeatTimeout");
});

test("a heartbeat alone wakes no one while all is well, and the first one after a silence does", () => {
  const { clock, heartbeats } = fixture();
  const first = binding(at(0));
  assert.deepEqual(heartbeats.keysFor({ type: "added", key, object: first }), [key]);
  heartbeats.judge(key, first);
  clock.ms = 40_000;
  const second = binding(at(40_000));
  assert.deepEqual(heartbeats.keysFor({ type: "updated", key, previous: first, object: second }), []);
  const probed = binding(at(40_000), trueCondition("Healthy"), { canary: { sent: 7, answered: 6 } });
  assert.deepEqual(heartbeats.keysFor({ type: "updated", key, previous: second, object: probed }), []);
  clock.ms = 140_000;
  assert.equal(reasonAt(heartbeats, second), "Healthy", "the heartbeat was seen though no one was woken");
  const other = binding(at(40_000), trueCondition("Healthy"), { konnectorVersion: "v2" });
  assert.deepEqual(heartbeats.keysFor({ type: "updated", key, previous: second, object: other }), [key]);
  const lost = falseCondition("Healthy", "HeartbeatTimeout", "Error", "silent");
  const silent = binding(at(40_000), lost);
  const back = binding(at(300_000), lost);
  assert.deepEqual(heartbeats.keysFor({ type: "updated", key, previous: silent, object: back }), [key]);
  assert.deepEqual(heartbeats.keysFor({ type: "deleted", key, object: back }), [key]);
});
