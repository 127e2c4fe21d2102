/** States of a claim that an app cluster shows, and what kstatus, Argo CD and Flux are to make of them. */
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
const good = synced("True", "ReconcileSuccess");
const available = ready("True", "Available");

interface Shape {
  readonly kind?: string;
  readonly metadata?: object;
  readonly status?: unknown;
}

function claim({ kind = "PostgresqlInstance", metadata = {}, status }: Shape): DynamicObject {
  return {
    apiVersion: "anynines.com/v1",
    kind,
    metadata: {
      namespace: "demo",
      name: "orders",
      uid: "0b7f7f0e-8b5c-4c2e-9d59-1f4f4e4b6a10",
      generation,
      ...metadata,
    },
    spec: { service: "a9s-postgresql17", plan: "postgresql-single-nano" },
    ...(status === undefined ? {} : { status }),
  };
}

function state(name: string, expected: string, shape: Shape): State {
  const [kstatus = "", argo = "", flux = ""] = expected.split(" ");
  return { name, claim: claim(shape), expected: [kstatus, argo, flux] };
}

const observed = (...conditions: readonly unknown[]): object => ({
  observedGeneration: generation,
  conditions,
});

const refusal =
  "create failed: InvalidParameters: parameters.wal_level_logical is not supported by this broker; change spec.parameters.walLevelLogical";
const unreachable =
  "the broker cannot be reached; it is retried automatically, and nothing in the claim has to change";

/** Of the shipped function and agent. */
export const states: readonly State[] = [
  state("a new claim, as the API server defaults it", "InProgress Progressing InProgress", {
    metadata: { generation: 1 },
    status: { observedGeneration: -1 },
  }),
  state("a claim that is not sent yet", "InProgress Progressing InProgress", {
    metadata: { generation: 1 },
    status: {
      observedGeneration: 0,
      conditions: [ready("Unknown", "SpecNotSent", "it waits for a namespace", 1)],
    },
  }),
  state("a claim that was edited, and whose status is of before", "InProgress Progressing InProgress", {
    status: { observedGeneration: 1, conditions: [ready("True", "Available", "", 1), good] },
  }),
  state("a claim that was edited, and whose provider has not looked", "InProgress Progressing InProgress", {
    status: {
      observedGeneration: 1,
      conditions: [
        ready("Unknown", "SpecNotObserved", "of the one before it said True (Available)"),
        synced("True", "ReconcileSuccess"),
      ],
    },
  }),
  state("an instance that is being made", "InProgress Progressing InProgress", {
    status: observed(ready("False", "Creating", "usually ready within 15 m"), good),
  }),
  state("an instance whose plan changes", "InProgress Progressing InProgress", {
    status: observed(
      ready("False", "Changing", "from postgresql-single-nano to postgresql-single-small"),
      good,
    ),
  }),
  state("a binding that waits for its instance", "InProgress Progressing InProgress", {
    kind: "ServiceBinding",
    status: observed(ready("False", "WaitingForInstance", "no instance held in namespace demo"), good),
  }),
  state("a claim that the broker refused", "InProgress Degraded Failed", {
    status: observed(ready("False", "Refused", refusal), synced("False", "Refused", refusal)),
  }),
  state(
    "a refused change of a living instance, which is not what the claim says",
    "Current Degraded Failed",
    {
      status: observed(available, synced("False", "Refused", refusal)),
    },
  ),
  state("a claim that waits for an unreachable broker", "InProgress Progressing InProgress", {
    status: observed(
      ready("False", "BrokerUnreachable", unreachable),
      synced("False", "BrokerUnreachable", unreachable),
    ),
  }),
  state("a living instance whose broker cannot be reached", "Current Healthy Current", {
    status: observed(available, synced("False", "BrokerUnreachable", unreachable)),
  }),
  state("a claim of a type that no broker serves", "InProgress Degraded Failed", {
    status: observed(
      ready("False", "NoBroker", "ask the operators of the control plane"),
      synced("False", "NoBroker"),
    ),
  }),
  state("an instance whose creation failed at the broker", "InProgress Degraded Failed", {
    status: observed(ready("False", "Failed", "create failed: no room"), good),
  }),
  state("an instance that the broker has lost", "InProgress Degraded Failed", {
    status: observed(ready("False", "Lost", "the broker no longer knows it"), good),
  }),
  state(
    "an instance that cannot be used for a reason that nobody knows",
    "InProgress Progressing InProgress",
    {
      status: observed(ready("False", "Unavailable", "it cannot be used at the moment"), good),
    },
  ),
  state("an instance that is ready", "Current Healthy Current", { status: observed(available, good) }),
  state("a paused instance that is not ready", "InProgress Suspended InProgress", {
    status: observed(ready("False", "Paused", "it is paused"), synced("False", "Paused", "it is paused")),
  }),
  state("a paused instance that is ready", "Current Suspended Current", {
    status: observed(available, synced("False", "Paused", "it is paused")),
  }),
  state("a ready instance that is deleted", "Terminating Progressing InProgress", {
    metadata: { deletionTimestamp: created, deletionGracePeriodSeconds: 0, finalizers: ["x/y"] },
    status: observed(available, good),
  }),
  state("a refused claim that is deleted", "Terminating Progressing InProgress", {
    metadata: { deletionTimestamp: created, deletionGracePeriodSeconds: 0, finalizers: ["x/y"] },
    status: observed(ready("False", "Refused", refusal), synced("False", "Refused", refusal)),
  }),
  state("a backup that is done", "Current Healthy Current", {
    kind: "Backup",
    status: observed(available, good),
  }),
  state("a backup that retention deleted", "InProgress Healthy Current", {
    kind: "Backup",
    status: observed(ready("False", "Deleted", "the backup manager no longer has it"), good),
  }),
  state("a backup that failed", "InProgress Degraded Failed", {
    kind: "Backup",
    status: observed(ready("False", "Failed", "backup failed"), good),
  }),
  state("a restore that waits for its backup", "InProgress Progressing InProgress", {
    kind: "Restore",
    status: observed(ready("False", "WaitingForBackup", "the backup is not ready"), good),
  }),
  state("a restore that is done", "Current Healthy Current", {
    kind: "Restore",
    status: observed(available, good),
  }),
  state("a restore whose backup cannot be used", "InProgress Degraded Failed", {
    kind: "Restore",
    status: observed(ready("False", "BackupNotUsable", "the backup is of another type"), good),
  }),
  state("a restore that nobody knows any more", "InProgress Degraded Failed", {
    kind: "Restore",
    status: observed(ready("False", "Deleted", "the backup manager no longer has it"), good),
  }),
];

const huge = "x".repeat(1_000_000);

/** Of a provider that is a stranger; the API server takes all of these where a schema is loose. */
export const strangeStates: readonly State[] = [
  state("a number of the future in the status", "InProgress Progressing InProgress", {
    status: { observedGeneration: 9_007_199_254_740_991, conditions: [available, good] },
  }),
  state("a number below zero in the status", "InProgress Progressing InProgress", {
    status: { observedGeneration: -9_007_199_254_740_991, conditions: [available, good] },
  }),
  state("a condition of the future", "Current Healthy Current", {
    status: { conditions: [ready("True", "Available", "", 9_007_199_254_740_991)] },
  }),
  state("a condition of before, in a status without a number", "Current Progressing InProgress", {
    status: { conditions: [ready("True", "Available", "", 1)] },
  }),
  state("an empty status", "Current Progressing InProgress", { status: {} }),
  state("no conditions", "Current Progressing InProgress", { status: observed() }),
  state("conditions without a type or a status", "Current Progressing InProgress", {
    status: observed({}, { type: "Synced" }, { status: "True" }),
  }),
  state("a Ready without a reason", "InProgress Progressing InProgress", {
    status: observed({ type: "Ready", status: "False" }),
  }),
  state("a Ready with an empty status", "Current Progressing InProgress", {
    status: observed({ type: "Ready", status: "", reason: "Available" }),
  }),
  state("huge texts", "InProgress Degraded Failed", {
    status: observed(ready("False", "Refused", huge), condition(huge, "True", huge, huge)),
  }),
  state("a reason that means something elsewhere", "InProgress Progressing InProgress", {
    status: observed(ready("False", "constructor", "__proto__"), synced("False", '"] = true, ["')),
  }),
  state("ten thousand conditions, and Ready at the end", "Current Healthy Current", {
    status: observed(
      ...Array.from({ length: 10_000 }, (_, index) => condition(`Of${index}`, "False", "Failed")),
      available,
    ),
  }),
  state("a standard condition that it is stalled", "Failed Degraded Failed", {
    status: observed(condition("Stalled", "True", "NoQuota", "ask for more"), available),
  }),
  state("a standard condition that it is working", "InProgress Progressing InProgress", {
    status: observed(condition("Reconciling", "True", "Scaling"), available),
  }),
];

/** What no schema of ours lets through, and a provider without a schema could send. kstatus and Flux have words of their own for some. */
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
  return claim({ status, ...(kind === undefined ? {} : { kind }) });
}
