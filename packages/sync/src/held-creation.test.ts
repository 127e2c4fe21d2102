import assert from "node:assert/strict";
import { test } from "node:test";
import { releaseCreationsAnnotation, syncerFinalizer } from "@klutch/api";
import { type DynamicObject, recordsAt } from "@klutch/kube-core";
import type { HeldCreations } from "./held-creation.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { type ObservedPair, type PairPlan, planPair } from "./object-plan.ts";
import { projectStatus } from "./status-projection.ts";
import { consumerWidget, copied, providerWidget, tenant } from "./testing/objects.ts";
import { before, fullView, ready } from "./testing/statuses.ts";

const creationsHeld: HeldCreations = {
  api: "widgets.example.org",
  since: Date.parse("2026-05-05T05:05:05.700Z"),
};
const available = { observedGeneration: 1, conditions: [ready("True")] };

function plan(consumer: DynamicObject, pair: Partial<ObservedPair> = {}): PairPlan {
  return planPair({
    ref: { namespace: "app", name: "w" },
    mapping: { state: "ready", providerNamespace: "cluster-a-app" },
    tenant,
    rule: defaultMetadataRule,
    ...copied,
    view: fullView,
    provider: undefined,
    creationsHeld,
    consumer,
    ...pair,
  });
}

const claim = (status: unknown, metadata: object = {}): DynamicObject => ({
  ...consumerWidget({ a: 1 }, { generation: 1, finalizers: [syncerFinalizer], ...metadata }),
  status,
});
const creates = ({ steps }: PairPlan): boolean => steps.some((step) => step.do === "applyProvider");
const shownBy = ({ steps }: PairPlan): unknown =>
  steps.flatMap((step) => (step.do === "writeStatus" ? [step.status] : []))[0];
const released = (time: string): object => ({ annotations: { [releaseCreationsAnnotation]: time } });

test("after a restore, a claim that had an upstream object gets no new one, and says so at once", () => {
  const held = plan(claim(available));
  assert.equal(held.waiting, "creationHeld");
  assert.equal(creates(held), false);
  const [said] = recordsAt(shownBy(held), "conditions");
  assert.deepEqual([said?.["status"], said?.["reason"]], ["False", "CreationHeld"]);
  assert.match(String(said?.["message"]), /kubectl annotate widgets\.example\.org <name>/);
});

test("the hold is written once, and its own words are evidence after a restart", () => {
  const shown = shownBy(plan(claim(available)));
  const again = plan(claim(shown));
  assert.deepEqual([again.steps, again.waiting], [[], "creationHeld"]);
});

test("evidence outlives words that the claim shows while the provider is away", () => {
  const held = { metadata: claim(undefined).metadata, status: shownBy(plan(claim(available))) };
  const away = projectStatus({ view: fullView, claim: held, provider: undefined, notSent: "away", now: 0 });
  assert.equal(recordsAt(away, "conditions")[0]?.["reason"], "SpecNotSent");
  assert.equal(plan(claim(away)).waiting, "creationHeld");
});

test("a claim without evidence goes up as ever: a new one, one that was never sent, and one without our finalizer", () => {
  const fresh = { observedGeneration: -1 };
  const never = projectStatus({
    view: fullView,
    claim: claim(undefined),
    provider: undefined,
    notSent: "away",
    now: 0,
  });
  for (const status of [undefined, {}, fresh, never]) assert.equal(creates(plan(claim(status))), true);
  assert.equal(creates(plan(claim(available, { finalizers: undefined }))), true);
});

test("a status of any other content, which a konnector in Go copies unchanged, is evidence", () => {
  for (const status of [{ phase: "Running" }, { conditions: [{ type: "Synced", status: "True" }] }])
    assert.equal(plan(claim(status)).waiting, "creationHeld");
});

test("a person's word counts from the second of the restore on, and nothing else is a word", () => {
  for (const time of ["2026-05-05T05:05:05Z", "2026-05-06T00:00:00Z"])
    assert.equal(creates(plan(claim(available, released(time)))), true, time);
  for (const time of [before, "true", ""])
    assert.equal(creates(plan(claim(available, released(time)))), false, time);
});

test("an object that appears by itself is synced, and a deleted claim ends", () => {
  assert.equal(plan(claim(available), { provider: providerWidget({ a: 2 }) }).waiting, undefined);
  const { steps } = plan(claim(available, { deletionTimestamp: before }));
  assert.deepEqual(
    steps.map((step) => step.do),
    ["removeFinalizer"],
  );
});

test("without a restore nothing is held", () => {
  assert.equal(creates(plan(claim(available), { creationsHeld: undefined })), true);
});
