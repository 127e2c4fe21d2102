/** When a cluster may mark new claims. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { claimMarksCondition } from "@klutch/api";
import type { DynamicObject, NewCondition } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import { defaultTiming } from "../../clusters.ts";
import { ClaimMarks } from "./claim-marks.ts";

const name = "widgets.example.org";

function start(): {
  readonly marks: ClaimMarks;
  readonly clock: VirtualClock;
  /** The report that stands. */
  readonly told: () => NewCondition | undefined;
} {
  const clock = new VirtualClock();
  let told: NewCondition | undefined;
  const status = {
    report: (_key: string, condition: NewCondition) => void (told = condition),
    retract: () => void (told = undefined),
  };
  return { marks: new ClaimMarks(status, { clock, timing: defaultTiming }), clock, told: () => told };
}

const crd = (...versions: readonly string[]): DynamicObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name, uid: "crd" },
  spec: { versions: versions.map((version) => ({ name: version, served: true })) },
});
const binding = (conditions: readonly NewCondition[] = [], deletionTimestamp?: string): DynamicObject => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceBinding",
  metadata: { namespace: "klutch-bind", name, deletionTimestamp },
  status: { conditions },
});

test("only a schema that has been served for a minute counts, and a further version begins a new minute", async () => {
  const { marks, clock, told } = start();
  assert.equal(marks.synced(name, binding(), crd("v1")), 60_000);
  assert.equal(told(), undefined);
  await clock.advance(60_000);
  assert.equal(marks.synced(name, binding(), crd("v1")), undefined);
  assert.equal(told()?.type, claimMarksCondition);
  assert.equal(marks.synced(name, binding(), crd("v1", "v2")), 60_000);
  assert.equal(told(), undefined);
});

test("a konnector goes on where the one before had reported the same versions, and starts again with others", () => {
  const first = start();
  first.marks.synced(name, binding(), crd("v1"));
  const message = "claims of version v1 are synced, and the cluster may mark new ones when they are created";
  const reported = binding([{ type: claimMarksCondition, status: "True", message }]);
  const next = start();
  assert.equal(next.marks.synced(name, reported, crd("v1")), undefined);
  assert.equal(next.told()?.message, message);
  const other = start();
  assert.equal(other.marks.synced(name, reported, crd("v2")), 60_000);
  assert.equal(other.told(), undefined);
});

test("it is taken back when nothing is synced any more, and an unbinding waits a second for claims that are marked late", async () => {
  const { marks, clock, told } = start();
  marks.synced(name, binding(), crd("v1"));
  await clock.advance(60_000);
  marks.synced(name, binding(), crd("v1"));
  marks.stopped(name, binding());
  assert.equal(told(), undefined);
  assert.equal(marks.settlesInMs(name, binding([], "2026-01-01T00:00:00Z")), 0, "nothing was ever marked");
  const going = binding([{ type: claimMarksCondition, status: "True" }], "2026-01-01T00:00:00Z");
  assert.equal(marks.settlesInMs(name, going), 1_000);
  await clock.advance(700);
  assert.equal(marks.settlesInMs(name, going), 300);
  await clock.advance(300);
  assert.equal(marks.settlesInMs(name, going), 0);
});
