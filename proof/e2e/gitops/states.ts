/** States of a claim that an app cluster shows, and the answers that kstatus, Argo CD and Flux should give to them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DynamicObject } from "@klutch/kube-core";

/** One state. */
export interface State {
  readonly name: string;
  readonly claim: DynamicObject;
  /** The answers of kstatus, Argo CD and Flux, in their own words. */
  readonly expected: readonly string[];
}

const created = "2026-11-22T10:00:00Z";
const generation = 2;

/** A condition as an agent shows it: of the claim's own generation. */
function condition(type: string, status: string, reason: string, message = "", number = generation): object {
  return { type, status, reason, message, observedGeneration: number, lastTransitionTime: created };
}

/** A claim with this status. */
export function claimWith(
  status: unknown,
  kind = "PostgresqlInstance",
  metadata: object = {},
): DynamicObject {
  const uid = "0b7f7f0e-8b5c-4c2e-9d59-1f4f4e4b6a10";
  return {
    apiVersion: "anynines.com/v1",
    kind,
    metadata: { namespace: "demo", name: "orders", uid, generation, ...metadata },
    spec: { service: "a9s-postgresql17", plan: "postgresql-single-nano" },
    ...(status === undefined ? {} : { status }),
  };
}

/** Reads a cell such as `False Refused: change spec.plan`; a dash stands for no condition. */
function conditionsIn(type: string, cell: string): readonly object[] {
  const [, status = "", reason = "", number, message] = /^(\w+) (\w+)(?:@(\d))?(?:: (.*))?$/.exec(cell) ?? [];
  return status === "" ? [] : [condition(type, status, reason, message, Number(number ?? generation))];
}

const metadataOf: Readonly<Record<string, object>> = {
  "of generation 1": { generation: 1 },
  deleted: { deletionTimestamp: created, deletionGracePeriodSeconds: 0, finalizers: ["x/y"] },
};

/** States of the shipped function and agent: the rows of states.md, which explains its columns. */
export const states: readonly State[] = readFileSync(join(import.meta.dirname, "states.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(1)
  .map((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const [name = "", about = "", seen = "", ready = "", synced = "", ...expected] = cells.slice(1, -1);
    const said = synced === "=" ? ready : synced || "True ReconcileSuccess";
    const conditions = [...conditionsIn("Ready", ready), ...conditionsIn("Synced", said)];
    const status = {
      observedGeneration: Number(seen || generation),
      ...(conditions.length === 0 ? {} : { conditions }),
    };
    const metadata = metadataOf[about];
    return {
      name,
      expected,
      claim: claimWith(status, metadata === undefined && about !== "" ? about : undefined, metadata),
    };
  });

const available = condition("Ready", "True", "Available");
const isReady = [available, condition("Synced", "True", "ReconcileSuccess")];
const huge = "x".repeat(1_000_000);
const future = 9_007_199_254_740_991;
const [waiting, failed, current, unsure] = [
  ["InProgress", "Progressing", "InProgress"],
  ["InProgress", "Degraded", "Failed"],
  ["Current", "Healthy", "Current"],
  ["Current", "Progressing", "InProgress"],
] as const;

const strange = (name: string, expected: readonly string[], status: object): State => ({
  name,
  expected,
  claim: claimWith(status),
});
/** A strange state whose status is of the claim's own spec. */
const seen = (name: string, expected: readonly string[], conditions: readonly unknown[]): State =>
  strange(name, expected, { observedGeneration: generation, conditions });

/** States of a provider that is a stranger; the API server takes all of these where a schema is loose. */
export const strangeStates: readonly State[] = [
  strange("a number of the future", waiting, { observedGeneration: future, conditions: isReady }),
  strange("a number below zero", waiting, { observedGeneration: -future, conditions: isReady }),
  strange("a condition of the future", current, {
    conditions: [condition("Ready", "True", "Available", "", future)],
  }),
  strange("a condition of before, in a status without a number", unsure, {
    conditions: [condition("Ready", "True", "Available", "", 1)],
  }),
  strange("an empty status", unsure, {}),
  seen("no conditions", unsure, []),
  seen("conditions without a type or a status", unsure, [{}, { type: "Synced" }, { status: "True" }]),
  seen("a Ready without a reason", waiting, [{ type: "Ready", status: "False" }]),
  seen("a Ready with an empty status", unsure, [{ type: "Ready", status: "", reason: "Available" }]),
  seen("huge texts", failed, [
    condition("Ready", "False", "Refused", huge),
    condition(huge, "True", huge, huge),
  ]),
  seen("a reason that means something elsewhere", waiting, [
    condition("Ready", "False", "constructor", "__proto__"),
    condition("Synced", "False", '"] = true, ["'),
  ]),
  seen("ten thousand conditions, and Ready at the end", current, [
    ...Array.from({ length: 10_000 }, (_, index) => condition(`Of${index}`, "False", "Failed")),
    available,
  ]),
  seen(
    "a standard condition that it is stalled",
    ["Failed", "Degraded", "Failed"],
    [condition("Stalled", "True", "NoQuota", "ask for more"), available],
  ),
  seen("a standard condition that it is working", waiting, [
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
