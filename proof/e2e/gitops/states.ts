/** States of a claim that an app cluster shows, and the answers that kstatus, Argo CD and Flux should give to them. */
import type { DynamicObject } from "@klutch/kube-core";

/** The three answers, in the words of each tool. */
export type Expected = readonly [kstatus: string, argo: string, flux: string];

/** One state. */
export interface State {
  readonly name: string;
  readonly claim: DynamicObject;
  readonly expected: Expected;
}

const created = "2026-11-22T10:00:00Z";
const generation = 2;

/** A condition as an agent shows it: of the claim's own generation. */
function condition(type: string, status: string, reason: string, message = "", number = generation): object {
  return { type, status, reason, message, observedGeneration: number, lastTransitionTime: created };
}

const ready = (status: string, reason: string, message?: string, number?: number): object =>
  condition("Ready", status, reason, message, number);
const synced = (status: string, reason: string, message?: string): object =>
  condition("Synced", status, reason, message);
/** Both conditions with one reason. */
const both = (reason: string, message?: string): readonly object[] => [
  ready("False", reason, message),
  synced("False", reason, message),
];
const good = synced("True", "ReconcileSuccess");
const available = ready("True", "Available");
const isReady = [available, good];

function claim(status: unknown, kind = "PostgresqlInstance", metadata: object = {}): DynamicObject {
  const uid = "0b7f7f0e-8b5c-4c2e-9d59-1f4f4e4b6a10";
  return {
    apiVersion: "anynines.com/v1",
    kind,
    metadata: { namespace: "demo", name: "orders", uid, generation, ...metadata },
    spec: { service: "a9s-postgresql17", plan: "postgresql-single-nano" },
    ...(status === undefined ? {} : { status }),
  };
}

/** Names the answers of the tools to a state, in the order of `Expected`. */
const words = {
  waiting: ["InProgress", "Progressing", "InProgress"],
  failed: ["InProgress", "Degraded", "Failed"],
  ready: ["Current", "Healthy", "Current"],
  deleted: ["Terminating", "Progressing", "InProgress"],
} as const;

function state(
  name: string,
  expected: Expected,
  status: unknown,
  more: { readonly kind?: string; readonly metadata?: object } = {},
): State {
  return { name, expected, claim: claim(status, more.kind, more.metadata) };
}

/** A state whose status is of the claim's own spec. */
function seen(name: string, expected: Expected, conditions: readonly unknown[], more?: object): State {
  return state(name, expected, { observedGeneration: generation, conditions }, more);
}

const refusal =
  "create failed: InvalidParameters: parameters.wal_level_logical is not supported by this broker; change spec.parameters.walLevelLogical";
const unreachable =
  "the broker cannot be reached; it is retried automatically, and nothing in the claim has to change";
const first = { metadata: { generation: 1 } };
const deleting = {
  metadata: { deletionTimestamp: created, deletionGracePeriodSeconds: 0, finalizers: ["x/y"] },
};
const [backup, restore] = [{ kind: "Backup" }, { kind: "Restore" }];

/** States of the shipped function and agent. */
export const states: readonly State[] = [
  state("a new claim, as the API server defaults it", words.waiting, { observedGeneration: -1 }, first),
  state(
    "a claim that is not sent yet",
    words.waiting,
    { observedGeneration: 0, conditions: [ready("Unknown", "SpecNotSent", "it waits for a namespace", 1)] },
    first,
  ),
  state("a claim that was edited, and whose status is of before", words.waiting, {
    observedGeneration: 1,
    conditions: [ready("True", "Available", "", 1), good],
  }),
  state("a claim that was edited, and whose provider has not looked", words.waiting, {
    observedGeneration: 1,
    conditions: [ready("Unknown", "SpecNotObserved", "of the one before it said True (Available)"), good],
  }),
  seen("an instance that is being made", words.waiting, [
    ready("False", "Creating", "usually ready within 15 m"),
    good,
  ]),
  seen("an instance whose plan changes", words.waiting, [
    ready("False", "Changing", "from postgresql-single-nano to postgresql-single-small"),
    good,
  ]),
  seen(
    "a binding that waits for its instance",
    words.waiting,
    [ready("False", "WaitingForInstance", "no instance held in namespace demo"), good],
    { kind: "ServiceBinding" },
  ),
  seen("a claim that the broker refused", words.failed, both("Refused", refusal)),
  seen(
    "a refused change of a living instance, which is not what the claim says",
    ["Current", "Degraded", "Failed"],
    [available, synced("False", "Refused", refusal)],
  ),
  seen("a claim that waits for an unreachable broker", words.waiting, both("BrokerUnreachable", unreachable)),
  seen("a living instance whose broker cannot be reached", words.ready, [
    available,
    synced("False", "BrokerUnreachable", unreachable),
  ]),
  seen("a claim of a type that no broker serves", words.failed, [
    ready("False", "NoBroker", "ask the operators of the control plane"),
    synced("False", "NoBroker"),
  ]),
  seen("an instance whose creation failed at the broker", words.failed, [
    ready("False", "Failed", "create failed: no room"),
    good,
  ]),
  seen("an instance that the broker has lost", words.failed, [
    ready("False", "Lost", "the broker no longer knows it"),
    good,
  ]),
  seen("an instance that cannot be used for a reason that nobody knows", words.waiting, [
    ready("False", "Unavailable", "it cannot be used at the moment"),
    good,
  ]),
  seen("an instance that is ready", words.ready, isReady),
  seen(
    "a paused instance that is not ready",
    ["InProgress", "Suspended", "InProgress"],
    both("Paused", "it is paused"),
  ),
  seen(
    "a paused instance that is ready",
    ["Current", "Suspended", "Current"],
    [available, synced("False", "Paused", "it is paused")],
  ),
  seen("a ready instance that is deleted", words.deleted, isReady, deleting),
  seen("a refused claim that is deleted", words.deleted, both("Refused", refusal), deleting),
  seen("a backup that is done", words.ready, isReady, backup),
  seen(
    "a backup that retention deleted",
    ["InProgress", "Healthy", "Current"],
    [ready("False", "Deleted", "the backup manager no longer has it"), good],
    backup,
  ),
  seen("a backup that failed", words.failed, [ready("False", "Failed", "backup failed"), good], backup),
  seen(
    "a restore that waits for its backup",
    words.waiting,
    [ready("False", "WaitingForBackup", "the backup is not ready"), good],
    restore,
  ),
  seen("a restore that is done", words.ready, isReady, restore),
  seen(
    "a restore whose backup cannot be used",
    words.failed,
    [ready("False", "BackupNotUsable", "the backup is of another type"), good],
    restore,
  ),
  seen(
    "a restore that nobody knows any more",
    words.failed,
    [ready("False", "Deleted", "the backup manager no longer has it"), good],
    restore,
  ),
];

const huge = "x".repeat(1_000_000);
const future = 9_007_199_254_740_991;
const unsure: Expected = ["Current", "Progressing", "InProgress"];

/** States of a provider that is a stranger; the API server takes all of these where a schema is loose. */
export const strangeStates: readonly State[] = [
  state("a number of the future in the status", words.waiting, {
    observedGeneration: future,
    conditions: isReady,
  }),
  state("a number below zero in the status", words.waiting, {
    observedGeneration: -future,
    conditions: isReady,
  }),
  state("a condition of the future", words.ready, { conditions: [ready("True", "Available", "", future)] }),
  state("a condition of before, in a status without a number", unsure, {
    conditions: [ready("True", "Available", "", 1)],
  }),
  state("an empty status", unsure, {}),
  seen("no conditions", unsure, []),
  seen("conditions without a type or a status", unsure, [{}, { type: "Synced" }, { status: "True" }]),
  seen("a Ready without a reason", words.waiting, [{ type: "Ready", status: "False" }]),
  seen("a Ready with an empty status", unsure, [{ type: "Ready", status: "", reason: "Available" }]),
  seen("huge texts", words.failed, [ready("False", "Refused", huge), condition(huge, "True", huge, huge)]),
  seen("a reason that means something elsewhere", words.waiting, [
    ready("False", "constructor", "__proto__"),
    synced("False", '"] = true, ["'),
  ]),
  seen("ten thousand conditions, and Ready at the end", words.ready, [
    ...Array.from({ length: 10_000 }, (_, index) => condition(`Of${index}`, "False", "Failed")),
    available,
  ]),
  seen(
    "a standard condition that it is stalled",
    ["Failed", "Degraded", "Failed"],
    [condition("Stalled", "True", "NoQuota", "ask for more"), available],
  ),
  seen("a standard condition that it is working", words.waiting, [
    condition("Reconciling", "True", "Scaling"),
    available,
  ]),
];

/** Statuses that our schemas reject and a provider without a schema could send. kstatus and Flux have their own answers to some. */
export const malformedStatuses: readonly unknown[] = [
  { conditions: "all is well" },
  { conditions: { type: "Ready", status: "True" } },
  { conditions: [null, 1, "Ready", true, [available], available] },
  { conditions: [{ type: 1, status: true, reason: {}, message: [] }] },
  { conditions: [{ type: "Ready", status: "False", reason: { a: 1 }, message: 7, observedGeneration: "2" }] },
  { conditions: [{ type: "Ready", status: "True", reason: 7, observedGeneration: 1.5 }] },
  { conditions: [{ type: "Ready", status: null, observedGeneration: null }] },
  { conditions: [{ type: ["Stalled"], status: "True" }], observedGeneration: null },
];

/** A claim with a status of the tests' own. */
export function claimWith(status: unknown, kind?: string): DynamicObject {
  return claim(status, kind);
}
