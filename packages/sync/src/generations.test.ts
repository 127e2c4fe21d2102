/** Tests plans about generations: the mark that goes up, and when a claim's status says that it is not about its spec. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  fieldManager,
  specDigestAnnotation,
  specObservedCondition,
  specObservedReason,
  syncerFinalizer,
} from "@klutch/api";
import { type DynamicObject, recordAt, recordsAt } from "@klutch/kube-core";
import fc from "fast-check";
import { specMark } from "./content.ts";
import { compareDigests, consumerDigest, lastSyncedOf, providerDigest, type Versions } from "./digest.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { type ObservedPair, planAnswered, planPair, type Step } from "./object-plan.ts";
import type { StatusView } from "./status-view.ts";
import { appliedBy, consumerWidget, fieldsOf, providerWidget, tenant } from "./testing/objects.ts";

const view: StatusView = {
  hasNumber: true,
  conditions: ["lastTransitionTime", "message", "observedGeneration", "reason"],
  mayBeUnknown: true,
  isSubresource: true,
  isIgnored: false,
};
const spec = { size: 1 };
const claim = (generation = 1, status?: unknown, more: object = {}): DynamicObject => ({
  ...consumerWidget(spec, { generation, ...more }),
  ...(status === undefined ? {} : { status }),
});
const mark = specMark(claim());
const annotated = (value: string | undefined): object => ({
  annotations: {
    "klutch.anynines.com/bound": "true",
    ...(value === undefined ? {} : { [specDigestAnnotation]: value }),
  },
});
const upstream = (value: string | undefined, status?: unknown, held: unknown = spec): DynamicObject => {
  const metadata = annotated(value);
  const managedFields = [appliedBy(fieldManager, "Apply", fieldsOf({ spec: held, metadata }))];
  const object = providerWidget(held, { generation: 4, managedFields, ...metadata });
  return { ...object, ...(status === undefined ? {} : { status }) };
};
const observed = (pair: Partial<ObservedPair>): ObservedPair => ({
  ref: { namespace: "app", name: "w" },
  mapping: { state: "ready", providerNamespace: "cluster-a-app" },
  tenant,
  rule: defaultMetadataRule,
  view,
  now: 0,
  consumer: claim(),
  provider: undefined,
  ...pair,
});
const ready = {
  type: "Ready",
  status: "True",
  reason: "Available",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const current = { observedGeneration: 4, conditions: [{ ...ready, observedGeneration: 4 }] };
const shown = (generation: number): object => ({
  observedGeneration: generation,
  conditions: [{ ...ready, observedGeneration: generation }],
});
const kinds = (steps: readonly Step[]): readonly string[] => steps.map((step) => step.do);
const reasons = (steps: readonly Step[]): readonly unknown[] =>
  steps.flatMap((step) =>
    step.do === "writeStatus" ? recordsAt(step.status, "conditions").map(({ reason }) => reason) : [],
  );

test("the mark goes up with the spec, and neither labels nor the version of the type change it", () => {
  const [step] = planPair(observed({})).steps;
  assert.ok(step?.do === "applyProvider");
  assert.equal(step.content.metadata.annotations?.[specDigestAnnotation], mark);
  assert.match(mark, /^[0-9a-f]{16}$/);
  assert.equal(specMark({ ...claim(), apiVersion: "example.org/v2" }), mark);
  assert.equal(specMark(claim(7, {}, { labels: { team: "x" } })), mark);
  assert.notEqual(specMark({ ...claim(), spec: { size: 2 } }), mark);
  assert.notEqual(specMark({ ...claim(), data: 1 }), mark);
});

const verdictOf = (provider: DynamicObject): string => {
  const digests = [
    consumerDigest(claim(1, shown(1)), defaultMetadataRule, view),
    providerDigest(provider, view),
  ] as const;
  return compareDigests(...digests, lastSyncedOf(...digests), undefined, syncerFinalizer);
};
const marks: readonly (readonly [string, DynamicObject, string, readonly string[]])[] = [
  ["an absent mark is no reason to write", upstream(undefined, current), "inSync", []],
  ["a right one neither", upstream(mark, current), "inSync", []],
  ["a wrong one is corrected", upstream("0000000000000000", current), "needsBoth", ["applyProvider"]],
  ["a long one is corrected", upstream("x".repeat(100_000), current), "needsBoth", ["applyProvider"]],
  [
    "one that is echoed and not there is put on",
    upstream(undefined, {
      conditions: [{ type: specObservedCondition, status: "True", reason: specObservedReason(mark) }],
    }),
    "needsBoth",
    ["applyProvider"],
  ],
];
for (const [what, provider, verdict, steps] of marks) {
  test(`of marks on upstream objects: ${what}`, () => {
    assert.equal(verdictOf(provider), verdict);
    assert.deepEqual(kinds(planPair(observed({ consumer: claim(1, shown(1)), provider })).steps), steps);
  });
}

test("a pair whose provider has not looked yet is compared in full once for each of its versions", () => {
  const claimed = consumerDigest(claim(2, shown(1)), defaultMetadataRule, view);
  const behind = providerDigest(upstream(mark, { ...current, observedGeneration: 3 }), view);
  const verdict = (versions?: Versions): string =>
    compareDigests(claimed, behind, lastSyncedOf(claimed, behind, versions), undefined, syncerFinalizer);
  assert.equal(verdict(), "needsBoth");
  assert.equal(verdict({ consumer: "10", provider: "20" }), "inSync");
  assert.equal(verdict({ consumer: "11", provider: "20" }), "needsBoth");
  assert.equal(verdict({ consumer: "10", provider: undefined }), "needsBoth");
});

test("a long mark of a stranger is not kept in memory", () => {
  assert.ok(JSON.stringify(providerDigest(upstream("x".repeat(100_000)), view)).length < 1_000);
});

test("an edit is applied, and the answer to it makes the claim say that no one has looked at it yet", () => {
  const provider = upstream("0000000000000000", current, { size: 9 });
  const pair = observed({ consumer: claim(2, shown(1)), provider });
  assert.deepEqual(kinds(planPair(pair).steps), ["applyProvider"]);
  const answer = { ...upstream(mark, current), metadata: { ...upstream(mark).metadata, generation: 5 } };
  assert.deepEqual(reasons(planAnswered(pair, answer)), ["SpecNotObserved"]);
});

test("an answer that leaves the generation as it is, of a changed label, changes nothing in the status", () => {
  const pair = observed({ consumer: claim(1, shown(1)), provider: upstream(mark, current) });
  assert.deepEqual(planAnswered(pair, upstream(mark, current)), []);
});

test("an edit that does not reach the provider is said in the status before it is tried again", () => {
  const provider = upstream("0000000000000000", current, { size: 9 });
  const { steps } = planPair(observed({ consumer: claim(2, shown(1)), provider, isOverdue: true }));
  assert.deepEqual(kinds(steps), ["writeStatus", "applyProvider"]);
  assert.deepEqual(reasons(steps), ["SpecNotSent"]);
});

test("a fresh claim says what it waits for when that takes long, and not before", () => {
  for (const [pair, reason] of [
    [observed({ mapping: { state: "pending" } }), "SpecNotSent"],
    [observed({ provider: upstream(mark), isOthers: true }), "SpecNotSent"],
    [observed({ provider: upstream(mark) }), "SpecNotObserved"],
  ] as const) {
    const early = planPair(pair);
    assert.deepEqual([kinds(early.steps), early.awaitsStatus], [[], true]);
    const late = planPair({ ...pair, isOverdue: true });
    assert.deepEqual([reasons(late.steps), late.awaitsStatus], [[reason], undefined]);
  }
});

test("somebody else's status is never shown", () => {
  const provider = upstream(mark, current);
  const { steps } = planPair(observed({ provider, isOthers: true, isOverdue: true }));
  assert.ok(!JSON.stringify(steps).includes("Available"));
});

test("while a claim is deleted it goes on to get its status, after the deletion was asked for", () => {
  const consumer = claim(2, shown(1), { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const words = {
    conditions: [{ ...ready, status: "False", reason: "Deleting", message: "waits for 2 bindings" }],
  };
  const alive = planPair(observed({ consumer, provider: upstream(mark, words) }));
  assert.deepEqual(
    [kinds(alive.steps), reasons(alive.steps)],
    [["deleteProvider", "writeStatus"], ["Deleting"]],
  );
  const unchanged = planPair(observed({ consumer, provider: upstream(mark, current) }));
  assert.deepEqual(kinds(unchanged.steps), ["deleteProvider"]);
});

const anySpec = fc.constantFrom({ size: 1 }, { size: 2 });
const lie = fc.record(
  {
    observedGeneration: fc.constantFrom(1, 2, 3, 4, 5, -1, "4"),
    conditions: fc.oneof(
      fc.array(
        fc.record(
          {
            type: fc.constantFrom("Ready", specObservedCondition, "klutch.anynines.com/Ready"),
            status: fc.constantFrom("True", "False"),
            reason: fc.constantFrom(
              "Available",
              specObservedReason(mark),
              specObservedReason(specMark({ ...claim(), spec: { size: 2 } })),
            ),
            observedGeneration: fc.constantFrom(1, 2, 3, 4, 5),
          },
          { requiredKeys: ["type", "status"] },
        ),
        { maxLength: 5 },
      ),
      fc.constantFrom("Ready", null, 7, { type: "Ready", status: "True" }),
    ),
  },
  { requiredKeys: [] },
);

test("no provider makes a claim ready for a spec that its object does not hold", () => {
  const marksToLie = fc.constantFrom(undefined, mark, specMark({ ...claim(), spec: { size: 2 } }), "x");
  fc.assert(
    fc.property(
      anySpec,
      anySpec,
      marksToLie,
      lie,
      lie,
      fc.boolean(),
      (wanted, held, said, status, answered, isOverdue) => {
        const consumer = { ...claim(2, shown(1)), spec: wanted };
        const pair = observed({ consumer, provider: upstream(said, status, held), isOverdue });
        const { steps } = planPair(pair);
        const isApplied = steps.some((step) => step.do === "applyProvider");
        const later = isApplied ? planAnswered(pair, upstream(said, answered, held)) : [];
        const written = [...steps, ...later].findLast((step) => step.do === "writeStatus");
        const { observedGeneration, conditions } = recordAt(
          written?.do === "writeStatus" ? written.status : consumer.status,
        );
        const ready = recordsAt({ conditions }, "conditions").find((one) => one["type"] === "Ready");
        const isReady =
          observedGeneration === 2 && ready?.["status"] === "True" && ready["observedGeneration"] === 2;
        if (isReady && !isApplied) assert.deepEqual(held, wanted);
        if (isReady && said !== undefined) assert.equal(said, specMark(consumer));
      },
    ),
    { numRuns: 2_000 },
  );
});
