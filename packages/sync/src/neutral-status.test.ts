import assert from "node:assert/strict";
import { test } from "node:test";
import { specObservedCondition, specObservedReason } from "@klutch/api";
import { recordAt, recordsAt } from "@klutch/kube-core";
import fc from "fast-check";
import { claimStatusText, isBehind, isUnanswered, providerStatusText } from "./neutral-status.ts";
import { projectStatus, type StatusCase } from "./status-projection.ts";
import { plainView } from "./status-view.ts";
import { before, claimOf, fullView as full, providerOf, ready } from "./testing/statuses.ts";

const now = Date.UTC(2026, 0, 2);

const number = fc.option(fc.integer({ min: -1, max: 4 }), { nil: undefined });
const condition = fc.record(
  {
    type: fc.constantFrom(
      "Ready",
      "Synced",
      "klutch.anynines.com/Ready",
      specObservedCondition,
      "klutch.anynines.com/",
    ),
    status: fc.constantFrom("True", "False", "Unknown", "Odd"),
    observedGeneration: number,
    reason: fc.constantFrom("Available", "SpecNotSent", specObservedReason("aa"), specObservedReason("bb")),
    message: fc.constantFrom(
      "x",
      "; of the one before it said True (Available)",
      "x\u001b[2J\r\u202e\u0000y",
    ),
    lastTransitionTime: fc.constantFrom(before, "2025-01-01T00:00:00Z"),
  },
  { requiredKeys: ["type", "status"] },
);
const conditions = fc.oneof(
  fc.array(condition, { maxLength: 4 }),
  fc.constantFrom(undefined, null, "Ready", {}, [null, 7, { type: "Ready" }]),
);
const status = fc.option(
  fc.record({ observedGeneration: number, conditions, port: fc.constantFrom(1, 2) }, { requiredKeys: [] }),
  { nil: undefined },
);
const wire = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
const view = fc
  .record({
    hasNumber: fc.boolean(),
    conditions: fc.option(fc.subarray([...(full.conditions ?? [])]), { nil: undefined }),
    mayBeUnknown: fc.boolean(),
    isSubresource: fc.boolean(),
    isIgnored: fc.boolean(),
  })
  .map((one) => ({ ...one, mayBeUnknown: one.mayBeUnknown && one.conditions !== undefined }));
const pair = fc
  .record({
    view,
    claim: fc.record({ generation: fc.integer({ min: 1, max: 3 }), status }),
    provider: fc.option(
      fc.record({
        generation: fc.integer({ min: 1, max: 3 }),
        status,
        mark: fc.constantFrom(undefined, "aa", "bb"),
      }),
      { nil: undefined },
    ),
    notSent: fc.constantFrom(undefined, undefined, "words"),
  })
  .map(
    ({ claim, provider, ...more }): StatusCase => ({
      ...more,
      claim: claimOf(claim.generation, wire(claim.status)),
      provider:
        provider === undefined
          ? undefined
          : providerOf(provider.generation, wire(provider.status), provider.mark),
      now,
    }),
  );

test("a status that was shown is shown again, at any later time", () => {
  fc.assert(
    fc.property(pair, (observed) => {
      const shown = projectStatus(observed);
      const again = { ...observed, claim: { ...observed.claim, status: shown }, now: now + 3_600_000 };
      assert.deepEqual(projectStatus(again), shown);
    }),
    { numRuns: 2_000 },
  );
});

test("of several conditions of one type, which no list by type can hold, the first is shown", () => {
  const twins = {
    conditions: [ready("True", { observedGeneration: 1 }), ready("False", { observedGeneration: 0 })],
  };
  const observed = { view: full, claim: claimOf(1), provider: providerOf(1, twins), notSent: undefined, now };
  const shown = recordsAt(projectStatus(observed), "conditions");
  assert.deepEqual(
    shown.map((condition) => condition["status"]),
    ["True"],
  );
});

test("no number is above the claim's generation, and none of ours is shown", () => {
  fc.assert(
    fc.property(pair, (observed) => {
      const { view: seen, claim } = observed;
      // What the claim showed before may hold anything, of an older agent.
      if (observed.provider?.status === undefined || seen.conditions === undefined) return;
      const shown = recordAt(projectStatus(observed));
      const { generation = 0 } = claim.metadata;
      if (seen.hasNumber) assert.ok(Number(shown["observedGeneration"] ?? 0) <= generation);
      for (const one of recordsAt(shown, "conditions")) {
        assert.ok(!String(one["type"]).startsWith("klutch.anynines.com/"));
        if (seen.conditions.includes("observedGeneration"))
          assert.ok(Number(one["observedGeneration"] ?? 0) <= generation);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("two equal texts of a spec that was sent mean that nothing is to be written, and nothing else does", () => {
  fc.assert(
    fc.property(pair, (observed) => {
      const { view: seen, claim, provider } = observed;
      if (provider?.status === undefined) return;
      const theirs = providerStatusText(provider, seen) ?? "";
      if (isBehind(theirs)) return;
      const shown = projectStatus({ ...observed, notSent: undefined });
      assert.equal(claimStatusText({ ...claim, status: shown }, seen), theirs);
      if (claimStatusText(claim, seen) === theirs) assert.deepEqual(claim.status, shown);
    }),
    { numRuns: 2_000 },
  );
});

test("a claim that waits for its provider's first word says so in its text", () => {
  const made = projectStatus({
    view: full,
    claim: claimOf(2),
    provider: providerOf(1),
    notSent: undefined,
    now,
  });
  assert.ok(isUnanswered(claimStatusText(claimOf(2, made), full) ?? ""));
  assert.ok(
    isBehind(
      claimStatusText(
        claimOf(3, { observedGeneration: 2, conditions: [ready("True", { observedGeneration: 2 })] }),
        full,
      ) ?? "",
    ),
  );
  assert.equal(claimStatusText(claimOf(1, { observedGeneration: -1 }), full), undefined);
});

const raw = { reason: "Avail\u202eable", message: "up\u001b[2J\r and\u0000 well\nsince noon" };
const clean = { reason: "Avail able", message: "up [2J  and  well\nsince noon" };
for (const [what, seen] of [
  ["in the claim's generations", full],
  ["copied unchanged", plainView],
] as const) {
  test(`a status ${what} comes without what steers a terminal, and is written once, also where an older agent wrote it raw`, () => {
    const provider = providerOf(1, { conditions: [ready("True", raw)] });
    const older = claimOf(1, { conditions: [ready("True", { ...raw, observedGeneration: 1 })] });
    const shown = projectStatus({ view: seen, claim: older, provider, notSent: undefined, now });
    const [condition] = recordsAt(shown, "conditions");
    assert.deepEqual({ reason: condition?.["reason"], message: condition?.["message"] }, clean);
    const theirs = providerStatusText(provider, seen);
    assert.notEqual(claimStatusText(older, seen), theirs);
    assert.equal(claimStatusText({ ...older, status: shown }, seen), theirs);
  });
}
