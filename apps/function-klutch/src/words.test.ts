import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "@klutch/crossplane";
import { usualTimes } from "@klutch/services";
import fc from "fast-check";
import { managedStateOf } from "./managed-state.ts";
import { type Blame, type Words, wordsOf } from "./words.ts";

const spec = {
  forProvider: { planName: "postgresql-single-small", parameters: { max_connections: 5 } },
  providerConfigRef: { name: "postgresql-service-broker" },
};
const usual = usualTimes["ServiceInstance"] ?? {};
const made = "2026-11-22T10:00:00Z";
const now = Date.parse(made) + 60_000;
const blame: readonly Blame[] = [
  new Map([["max_connections", "spec.parameters.maxConnections"]]),
  new Map([["postgresql-single-small", "spec.plan"]]),
];

/** A managed resource of generation 2 as the API server has it: with defaults. */
function managed(conditions: readonly unknown[], changes: Json = {}): Json {
  const defaulted = {
    ...spec,
    deletionPolicy: "Delete",
    providerConfigRef: { ...spec.providerConfigRef, policy: {} },
  };
  return {
    metadata: { generation: 2, creationTimestamp: made },
    spec: defaulted,
    status: { atProvider: { state: "deploying" }, conditions },
    ...changes,
  };
}

const condition = (
  type: string,
  status: string,
  reason: string,
  message?: string,
  observedGeneration = 2,
): Json => ({
  type,
  status,
  reason,
  observedGeneration,
  ...(message === undefined ? {} : { message }),
});
const good = condition("Synced", "True", "ReconcileSuccess");
const available = condition("Ready", "True", "Available");

function words(observed: Json | undefined, at: number = now): Words {
  return wordsOf(managedStateOf(observed, { spec }), { usual, now: at, blame, isChangeable: true });
}

/** `Ready` and `Synced` on a line each, and the problem when there is one. */
function lines(observed: Json | undefined, at?: number): readonly string[] {
  const { isReady, conditions, problem } = words(observed, at);
  const [ready] = conditions;
  assert.equal(isReady, ready?.status === "True");
  if (problem !== undefined)
    assert.ok(
      conditions.some(({ message }) => message === problem),
      "the event says something else",
    );
  return [
    ...conditions.map(({ status, reason, message }) => [status, reason, message ?? ""].join(" ").trim()),
    ...(problem === undefined ? [] : ["problem"]),
  ];
}

const wasReady = { status: { atProvider: { provisionedAt: made, updatedAt: made }, conditions: [] } };
const withConditions = (conditions: readonly Json[]): Json => ({
  status: { atProvider: { provisionedAt: made, updatedAt: made }, conditions },
});
const inSync = "True ReconcileSuccess";
const refusal = "create failed: InvalidParameters: parameters.max_connections must be more";

for (const [name, observed, expected] of [
  [
    "nothing is there yet",
    undefined,
    ["False Creating it is being created; usually ready within 15 m", inSync],
  ],
  [
    "nothing was said yet",
    managed([]),
    ["False Creating it is being created; usually ready within 15 m", inSync],
  ],
  ["all is well", managed([available, good]), ["True Available", inSync]],
  [
    "the broker works",
    managed([condition("Ready", "False", "Creating", "step 2 of 3."), good]),
    ["False Creating step 2 of 3; usually ready within 15 m", inSync],
  ],
  [
    "the plan changes",
    managed([condition("Ready", "False", "Changing", "from a to b"), good], {}),
    ["False Changing from a to b; usually ready within 30 m", inSync],
  ],
  [
    "no one has looked at the new spec",
    managed([condition("Ready", "True", "Available", "", 1), good]),
    ["False Changing the change is in progress; usually ready within 30 m", inSync],
  ],
  [
    "the new spec did not arrive at the managed resource",
    managed([available, good], { spec: { ...spec, forProvider: { ...spec.forProvider, planName: "nano" } } }),
    ["False Changing the change is in progress; usually ready within 30 m", inSync],
  ],
  [
    "a parameter that was taken away is still there",
    managed([available, good], {
      spec: {
        ...spec,
        forProvider: { ...spec.forProvider, parameters: { max_connections: 5, work_mem: "1MB" } },
      },
    }),
    ["False Changing the change is in progress; usually ready within 30 m", inSync],
  ],
  [
    "a refusal of the spec before this one is forgotten",
    managed([condition("Synced", "False", "Refused", refusal, 1)]),
    ["False Creating it is being created; usually ready within 15 m", inSync],
  ],
  [
    "the broker refused a parameter",
    managed([condition("Synced", "False", "Refused", refusal)]),
    [
      `False Refused ${refusal}; change spec.parameters.maxConnections`,
      `False Refused ${refusal}; change spec.parameters.maxConnections`,
      "problem",
    ],
  ],
  [
    "the plan is refused of an instance that is in use",
    managed(
      [],
      withConditions([condition("Synced", "False", "Refused", "no plan postgresql-single-small.")]),
    ),
    [
      "False Refused no plan postgresql-single-small; change spec.plan; until then it stays as it was",
      "False Refused no plan postgresql-single-small; change spec.plan; until then it stays as it was",
      "problem",
    ],
  ],
  [
    "credentials that work could not be rotated",
    managed([available, condition("Synced", "False", "RotationIncomplete", "no more logins")]),
    [
      "True Available",
      "False RotationIncomplete no more logins; those in the Secret work, and it is retried automatically",
      "problem",
    ],
  ],
  [
    "a refusal that names nothing",
    managed([condition("Synced", "False", "Refused", "no")]),
    ["False Refused no; change the claim's spec", "False Refused no; change the claim's spec", "problem"],
  ],
  [
    "the broker failed to make it",
    managed([condition("Ready", "False", "Failed", "create failed: no room"), good]),
    ["False Failed create failed: no room; change the claim's spec to try again", inSync, "problem"],
  ],
  [
    "the broker failed to change it",
    managed(
      [],
      withConditions([available, condition("Synced", "False", "Failed", "update failed: no room")]),
    ),
    [
      "False Failed update failed: no room; change the claim's spec to try again; until then it stays as it was",
      "False Failed update failed: no room; change the claim's spec to try again; until then it stays as it was",
      "problem",
    ],
  ],
  [
    "the broker is away, and the instance works",
    managed([available, condition("Synced", "False", "BrokerUnreachable", "observe failed: no answer")]),
    [
      "True Available",
      "False BrokerUnreachable observe failed: no answer; it is retried automatically, and nothing in the claim has to change",
      "problem",
    ],
  ],
  [
    "an error without a reason of ours",
    managed([condition("Synced", "False", "ReconcileError", "create failed: broken")]),
    [
      "False Failed create failed: broken; it is retried automatically",
      "False Failed create failed: broken; it is retried automatically",
      "problem",
    ],
  ],
  [
    "no broker for the type",
    managed([condition("Synced", "False", "NoBroker", "no broker here serves the type x")]),
    [
      "False NoBroker no broker here serves the type x; ask the operators of the control plane",
      "False NoBroker no broker here serves the type x; ask the operators of the control plane",
      "problem",
    ],
  ],
  [
    "a binding waits",
    managed([condition("Synced", "False", "WaitingForInstance", "service instance is not ready: db")]),
    [
      "False WaitingForInstance service instance is not ready: db; it continues automatically when the instance is ready",
      inSync,
    ],
  ],
  [
    "a restore waits for its backup",
    managed([condition("Synced", "False", "WaitingForBackup", "backup nightly is not ready")]),
    ["False WaitingForBackup backup nightly is not ready; it continues automatically", inSync],
  ],
  [
    "a backup is gone by the manager's own rules",
    managed([condition("Ready", "False", "Deleted", "the backup is gone"), good]),
    ["False Deleted the backup is gone", inSync],
  ],
  [
    "it waits for something that has no word here",
    managed([condition("Synced", "False", "WaitingForGodot", "not yet")]),
    ["False Creating not yet; usually ready within 15 m", inSync],
  ],
  [
    "the broker is busy",
    managed([condition("Synced", "False", "BrokerBusy", "create failed: later")]),
    ["False Creating create failed: later; usually ready within 15 m", inSync],
  ],
  [
    "it is lost",
    managed([condition("Ready", "False", "Lost", "the instance is lost"), good]),
    ["False Lost the instance is lost", inSync, "problem"],
  ],
  [
    "it is paused while it works",
    managed([available, condition("Synced", "False", "ReconcilePaused")]),
    [
      "True Available",
      "False Paused it is paused on the control plane, by the annotation crossplane.io/paused of its managed resource; ask the operators of the control plane",
    ],
  ],
  [
    "it is deleted without its claim",
    managed([condition("Ready", "False", "Deleting"), good], {
      metadata: { generation: 2, deletionTimestamp: made },
    }),
    ["False Deleting it is being deleted; usually gone within 10 m", inSync],
  ],
  [
    "it is deleted, and its provider has not seen it",
    managed([available, good], { metadata: { generation: 2, deletionTimestamp: made } }),
    ["False Deleting it is being deleted; usually gone within 10 m", inSync],
  ],
  [
    "it cannot be used, and no one says why",
    managed([condition("Ready", "False", "Unavailable"), good]),
    ["False Unavailable it cannot be used at the moment", inSync],
  ],
  [
    "a provider without numbers is believed about the existing spec",
    managed([{ type: "Ready", status: "True", reason: "Available" }]),
    ["True Available", inSync],
  ],
] as const) {
  test(`words: ${name}`, () => assert.deepEqual(lines(observed), expected));
}

test("a text counts no time: it changes once, when it takes longer than usual", () => {
  const creating = managed([condition("Ready", "False", "Creating")]);
  const at = (minutes: number): string | undefined => lines(creating, Date.parse(made) + minutes * 60_000)[0];
  assert.equal(at(0), at(15));
  assert.equal(at(16), "False Creating it is being created; it takes longer than usual, which is 15 m");
  assert.equal(at(16), at(600));
  const changing = managed([condition("Ready", "False", "Changing", "from a to b")], {});
  assert.match(
    lines({ ...changing, ...wasReady }, Date.parse(made) + 31 * 60_000)[0] ?? "",
    /longer than usual/,
  );
});

test("a claim that cannot be changed must be created again", () => {
  const said = managed([condition("Synced", "False", "Refused", "RequiresApp: an app is needed")]);
  const context = { usual, now, blame, isChangeable: false };
  const { problem } = wordsOf(managedStateOf(said, { spec }), context);
  assert.equal(problem, "RequiresApp: an app is needed; delete this claim and create another");
  const failed = managed([
    condition("Ready", "False", "Failed", "backup 7 has failed; make another Backup"),
    good,
  ]);
  assert.equal(
    wordsOf(managedStateOf(failed, { spec }), context).problem,
    "backup 7 has failed; make another Backup",
  );
});

/** Any text that may stand in a condition of a liar. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>("Ready", "Synced", "True", "False", "Refused", "Failed", "Creating", 2, "2"),
  fc.constant("\u001b[31m\u202e\n".repeat(5_000)),
);
const liarCondition = fc.record(
  { type: anything, status: anything, reason: anything, message: anything, observedGeneration: anything },
  { requiredKeys: [] },
);

test("whatever a managed resource says, the words are few, on one line, and in the words of the reference", () => {
  const reasons =
    /^(Available|ReconcileSuccess|Creating|Changing|Deleting|WaitingFor(?:Instance|Backup|Restore)|Deleted|BackupNotUsable|Refused|BrokerUnreachable|NoBroker|Failed|Lost|Paused|Unavailable)$/;
  fc.assert(
    fc.property(
      fc.oneof(anything, fc.array(liarCondition)),
      fc.oneof(anything, fc.constant(spec)),
      (said, held) => {
        const observed = { metadata: { generation: 2 }, spec: held, status: { conditions: said } };
        const { isReady, conditions } = words(observed);
        assert.equal(conditions.length, 2);
        if (held !== spec) assert.equal(isReady, false, "ready for another spec");
        for (const { status, reason, message = "" } of conditions) {
          assert.match(status, /^(True|False)$/);
          assert.match(reason, reasons);
          assert.ok(message.length <= 1024);
          assert.doesNotMatch(message, /[\p{Cc}\p{Cf}]/u);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test("a number of the future, or one that is a text, makes nothing ready", () => {
  for (const number of [3, 1, "2", null, Number.NaN]) {
    const lie = { ...available, observedGeneration: number };
    assert.equal(words(managed([lie, good])).isReady, false, String(number));
  }
});

test("a refusal blames the fields that it is about, not those that it says are possible, always in one order", () => {
  const said = (message: string, group: readonly (readonly [string, string])[]): string | undefined => {
    const observed = managed([condition("Synced", "False", "Refused", message), available]);
    const context = { usual, now, blame: [new Map(group)], isChangeable: true };
    return wordsOf(managedStateOf(observed, { spec }), context).problem?.split("; ").at(-2);
  };
  const fields = [
    ["b_b", "spec.parameters.b"],
    ["a_a", "spec.parameters.a"],
  ] as const;
  for (const group of [fields, fields.toReversed()]) {
    assert.equal(said("a_a is not supported; possible: b_b, c_c", group), "change spec.parameters.a");
    assert.equal(said("b_b and a_a are wrong", group), "change spec.parameters.a, spec.parameters.b");
    assert.equal(said("possible: a_a", group), "change spec.parameters.a");
  }
});
