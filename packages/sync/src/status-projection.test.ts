import assert from "node:assert/strict";
import { test } from "node:test";
import { specObservedCondition, specObservedReason } from "@klutch/api";
import { numberAt, recordAt, recordsAt } from "@klutch/kube-core";
import { projectStatus, type StatusCase } from "./status-projection.ts";
import type { StatusView } from "./status-view.ts";
import { before, claimOf, fullView as full, providerOf, ready, type Side } from "./testing/statuses.ts";

const now = Date.UTC(2026, 0, 2);
const echo = (mark: string): object => ({
  type: specObservedCondition,
  status: "True",
  reason: specObservedReason(mark),
});

function show(
  claim: Side,
  provider: Side | undefined,
  more: Partial<StatusCase> = {},
): Readonly<Record<string, unknown>> {
  return recordAt(projectStatus({ view: full, claim, provider, notSent: undefined, now, ...more }));
}

/** Status, number and reason of `Ready`, and the number of the status. */
const summary = (status: Readonly<Record<string, unknown>>): readonly unknown[] => {
  const one = recordsAt(status, "conditions").find(({ type }) => type === "Ready");
  return [one?.["status"], one?.["observedGeneration"], one?.["reason"], status["observedGeneration"]];
};

const counted = ["True", 1, "Available", 1];
const unknown = ["Unknown", 0, "SpecNotObserved", 0];
const cases: readonly (readonly [string, Side, readonly unknown[]])[] = [
  [
    "numbers of the provider's own",
    providerOf(3, { observedGeneration: 3, conditions: [ready("True", { observedGeneration: 3 })] }),
    counted,
  ],
  ["no numbers at all", providerOf(3, { conditions: [ready("True")] }), counted],
  [
    "a status of an older generation",
    providerOf(3, { observedGeneration: 2, conditions: [ready("True")] }),
    unknown,
  ],
  [
    "a status of a generation to come",
    providerOf(3, { observedGeneration: 4, conditions: [ready("True")] }),
    unknown,
  ],
  [
    "a Ready of an older generation",
    providerOf(3, { observedGeneration: 3, conditions: [ready("True", { observedGeneration: 2 })] }),
    ["Unknown", 0, "SpecNotObserved", 1],
  ],
  ["the echo of its mark", providerOf(3, { conditions: [ready("True"), echo("aa")] }, "aa"), counted],
  ["the echo of another mark", providerOf(3, { conditions: [ready("True"), echo("bb")] }, "aa"), unknown],
  ["an echo, and no mark", providerOf(3, { conditions: [ready("True"), echo("aa")] }), unknown],
  [
    "an echo that is not True",
    providerOf(3, { conditions: [ready("True"), { ...echo("aa"), status: "False" }] }, "aa"),
    unknown,
  ],
  ["conditions that are no list", providerOf(3, { conditions: "Ready" }), unknown],
  ["a status that is no object", providerOf(3, "Ready"), unknown],
  [
    "no generation to compare with",
    { metadata: {}, status: { observedGeneration: 9, conditions: [ready("True")] } },
    counted,
  ],
];
for (const [what, provider, expected] of cases) {
  test(`a status with ${what} ${expected === counted ? "counts" : "does not count"}`, () => {
    const status = show(claimOf(1), provider);
    assert.deepEqual(summary(status), expected);
    assert.ok(!JSON.stringify(status).includes("klutch.anynines.com/"));
  });
}

test("a status does not count before the spec was sent, and says what that waits for and what was said before", () => {
  const provider = providerOf(3, { observedGeneration: 3, conditions: [ready("True")], port: 5432 });
  const status = show(claimOf(2, { observedGeneration: 1 }), provider, { notSent: "no namespace" });
  assert.deepEqual(status, {
    port: 5432,
    observedGeneration: 1,
    conditions: [
      {
        type: "Ready",
        status: "Unknown",
        reason: "SpecNotSent",
        message:
          "the provider has not got this spec yet: no namespace; of the one before it said True (Available)",
        observedGeneration: 1,
        lastTransitionTime: "2026-01-02T00:00:00Z",
      },
    ],
  });
});

test("what the claim shows stays when its upstream object is created again, and quotes what was said once", () => {
  const shown = { observedGeneration: 4, conditions: [ready("True", { observedGeneration: 4 })], port: 1 };
  const first = show(claimOf(4, shown), providerOf(1));
  assert.deepEqual(summary(first), ["Unknown", 3, "SpecNotObserved", 3]);
  assert.equal(first["port"], 1);
  const second = show(claimOf(5, first), providerOf(1), { now: now + 60_000 });
  assert.deepEqual(second, first);
  const third = show(claimOf(5, first), undefined, { notSent: "x", now: now + 60_000 });
  const message = recordsAt(third, "conditions")[0]?.["message"];
  assert.equal(
    message,
    "the provider has not got this spec yet: x; of the one before it said True (Available)",
  );
});

test("the number of a default is none, so the first status that is written has the same numbers however it comes about", () => {
  const fresh = claimOf(3, {
    observedGeneration: -1,
    conditions: [ready("Unknown", { lastTransitionTime: "1970-01-01T00:00:00Z" })],
  });
  for (const [claim, notSent] of [
    [fresh, "it waits"],
    [fresh, undefined],
    [claimOf(3), "it waits"],
  ] as const) {
    const shown = show(claim, undefined, { notSent, now: 60_000 });
    assert.equal(numberAt(shown, "observedGeneration"), 2);
    assert.equal(recordsAt(shown, "conditions")[0]?.["lastTransitionTime"], "1970-01-01T00:01:00Z");
  }
});

test("numbers that stand lower stay, those that are not lower become one less than the generation", () => {
  const provider = providerOf(3, { observedGeneration: 2, conditions: [{ type: "Synced", status: "True" }] });
  for (const [standing, expected] of [
    [1, 1],
    [-1, -1],
    [3, 2],
    [9, 2],
    [undefined, 2],
  ] as const) {
    const conditions = [{ type: "Synced", status: "True", observedGeneration: standing }];
    const status = show(claimOf(3, { observedGeneration: standing, conditions }), provider);
    assert.equal(status["observedGeneration"], expected);
    assert.equal(recordsAt(status, "conditions")[0]?.["observedGeneration"], expected);
  }
});

const speaks = (status: string): object => ({
  type: "klutch.anynines.com/Ready",
  status,
  reason: "PlanFull",
  message: "choose another plan",
  lastTransitionTime: "2026-01-01T12:00:00Z",
});
const spoken: readonly (readonly [string, string | undefined, string, readonly unknown[]])[] = [
  ["its words explain", "False", "False", ["False", "PlanFull", "choose another plan", before]],
  ["its False wins", "True", "False", ["False", "PlanFull", "choose another plan", "2026-01-01T12:00:00Z"]],
  [
    "its Unknown wins",
    "True",
    "Unknown",
    ["Unknown", "PlanFull", "choose another plan", "2026-01-01T12:00:00Z"],
  ],
  ["its True makes nothing true", "False", "True", ["False", "Creating", undefined, before]],
  ["its True explains a true state", "True", "True", ["True", "PlanFull", "choose another plan", before]],
  [
    "its False is enough",
    undefined,
    "False",
    ["False", "PlanFull", "choose another plan", "2026-01-01T12:00:00Z"],
  ],
  ["its True is not enough", undefined, "True", [undefined, undefined, undefined, undefined]],
];
for (const [what, general, special, expected] of spoken) {
  test(`a condition that speaks for another is left out, and ${what}`, () => {
    const conditions = [...(general === undefined ? [] : [ready(general)]), speaks(special), echo("aa")];
    const status = show(claimOf(1), providerOf(3, { conditions }, "aa"));
    const shown = recordsAt(status, "conditions");
    const [one] = shown;
    assert.deepEqual(
      [one?.["status"], one?.["reason"], one?.["message"], one?.["lastTransitionTime"]],
      expected,
    );
    assert.ok(shown.every(({ type }) => type === "Ready"));
  });
}

test("what speaks for others does not count either when the status does not", () => {
  const conditions = [
    { type: "Synced", status: "True" },
    { ...speaks("False"), type: "klutch.anynines.com/Synced" },
  ];
  const status = show(claimOf(1), providerOf(3, { observedGeneration: 2, conditions }));
  assert.deepEqual(
    recordsAt(status, "conditions").map(({ type, status: value }) => [type, value]),
    [
      ["Synced", "True"],
      ["Ready", "Unknown"],
    ],
  );
});

test("what the schema has not is not written", () => {
  const stale = providerOf(3, { observedGeneration: 2, conditions: [ready("True")], port: 1 });
  const view = (more: Partial<StatusView>): StatusCase["view"] => ({ ...full, ...more });
  const bare = show(claimOf(1), stale, { view: view({ conditions: [] }) });
  assert.deepEqual(recordsAt(bare, "conditions"), [{ type: "Ready", status: "Unknown" }]);
  const numbered = show(claimOf(1), stale, { view: view({ conditions: undefined, mayBeUnknown: false }) });
  assert.deepEqual(numbered, { ...recordAt(stale.status), observedGeneration: 0 });
  const plain = view({ hasNumber: false, conditions: undefined, mayBeUnknown: false });
  assert.equal(
    projectStatus({ view: plain, claim: claimOf(1), provider: stale, notSent: "x", now }),
    stale.status,
  );
  const strict = show(claimOf(1), stale, { view: view({ mayBeUnknown: false }) });
  assert.deepEqual(summary(strict), ["True", 0, "Available", 0]);
});

test("without the status subresource no number is written, and none is asked", () => {
  const provider = providerOf(9, {
    observedGeneration: 8,
    conditions: [ready("True", { observedGeneration: 8 })],
  });
  const view = { ...full, isSubresource: false };
  assert.deepEqual(summary(show(claimOf(5), provider, { view })), [
    "True",
    undefined,
    "Available",
    undefined,
  ]);
  assert.deepEqual(summary(show(claimOf(5), provider, { view, notSent: "x" })), [
    "Unknown",
    undefined,
    "SpecNotSent",
    undefined,
  ]);
});

test("where the API's owner says that numbers mean nothing, only what was sent is asked", () => {
  const provider = providerOf(9, {
    observedGeneration: 1,
    conditions: [ready("True", { observedGeneration: 1 }), echo("x")],
  });
  const view = { ...full, isIgnored: true };
  assert.deepEqual(summary(show(claimOf(1), provider, { view })), counted);
  assert.deepEqual(summary(show(claimOf(1), provider, { view, notSent: "x" })), [
    "Unknown",
    0,
    "SpecNotSent",
    0,
  ]);
});

test("while a claim is deleted it shows the provider's words, no number rises and Ready does not become True", () => {
  const claim = claimOf(
    3,
    { observedGeneration: 2, conditions: [ready("False", { observedGeneration: 2 })] },
    { deletionTimestamp: before },
  );
  const words = ready("False", { reason: "Deleting", message: "waits for 2 bindings" });
  assert.deepEqual(summary(show(claim, providerOf(4, { observedGeneration: 3, conditions: [words] }))), [
    "False",
    2,
    "Deleting",
    2,
  ]);
  assert.deepEqual(
    summary(show(claim, providerOf(4, { observedGeneration: 4, conditions: [ready("True")] }))),
    ["Unknown", 2, "SpecNotObserved", 2],
  );
  assert.deepEqual(show(claim, undefined), claim.status);
});

test("ten thousand conditions are shown as they are, and of ten thousand of one type the first", () => {
  const twins = Array.from({ length: 10_000 }, (_, index) => ready("True", { message: `${index}` }));
  const others = twins.map((twin, index) => ({ ...twin, type: `Type${index}` }));
  const shownOf = (conditions: readonly unknown[]): readonly unknown[] => {
    const provider = providerOf(3, { observedGeneration: 2, conditions });
    return recordsAt(show(claimOf(2, { conditions }), provider), "conditions");
  };
  assert.equal(shownOf(others).length, others.length + 1, "and a Ready that is Unknown");
  assert.equal(shownOf(twins).length, 1);
});
