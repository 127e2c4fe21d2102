/**
 * What a managed resource tells of the one call that makes its backup or its restore. No I/O.
 *
 * | on the managed resource                                                | recorded                                        |
 * |------------------------------------------------------------------------|-------------------------------------------------|
 * | the annotation with the number                                         | made                                            |
 * | an external name that is a number, and not the resource's own name     | made: a person adopts what exists               |
 * | the annotation of the operation                                        | calling, and what was there before              |
 * | marks of Crossplane's runtime, or a number in the status only          | calling, since then; a younger one is new       |
 * | none of these                                                          | nothing                                         |
 */
import type { CreateIntent } from "@klutch/backup-manager";
import { externalNameAnnotation, type Managed } from "@klutch/crossplane";
import { type Operation, operationAnnotation, recordedOperation } from "./operation.ts";

/** The progress of the call. */
export type CallRecord =
  | { readonly kind: "nothing" }
  /** No one knows whether it arrived. */
  | { readonly kind: "calling"; readonly intent: CreateIntent }
  | { readonly kind: "made"; readonly id: number }
  /** Somebody wrote something else than a number. */
  | { readonly kind: "damaged"; readonly text: string };

/** A managed resource of a backup or a restore. `statusId`: the number that its status shows. */
export interface CallSource {
  readonly managed: Managed;
  readonly idAnnotation: string;
  readonly statusId: number | undefined;
}

/** The annotations that the Go provider's runtime writes around a call that creates. */
const runtimeMarks = [
  "crossplane.io/external-create-pending",
  "crossplane.io/external-create-succeeded",
  "crossplane.io/external-create-failed",
];

/** See the table above. */
export function recordedCall({ managed, idAnnotation, statusId }: CallSource): CallRecord {
  const { annotations = {}, name } = managed.metadata;
  const text = annotations[idAnnotation];
  if (text !== undefined) {
    const id = numberOf(text);
    return id === undefined ? { kind: "damaged", text } : { kind: "made", id };
  }
  const externalName = annotations[externalNameAnnotation];
  const adopted = externalName === name ? undefined : numberOf(externalName);
  if (adopted !== undefined) return { kind: "made", id: adopted };
  if (annotations[operationAnnotation] !== undefined) {
    const operation = recordedOperation(managed) ?? {
      type: "create",
      phase: "calling",
      startedAt: createdAt(managed),
    };
    return { kind: "calling", intent: intentOf(operation, managed) };
  }
  const marks = runtimeMarks.flatMap((mark) => annotations[mark] ?? []);
  if (marks.length === 0 && statusId === undefined) return { kind: "nothing" };
  return { kind: "calling", intent: { ...youngerThan(managed), sentAtMs: latest(marks, managed) } };
}

/** The number of the backup or restore, if it is known. */
export function recordedId(source: CallSource): number | undefined {
  const record = recordedCall(source);
  return record.kind === "made" ? record.id : undefined;
}

/** Returns the call as an operation; undefined: none was begun, or its number is damaged. */
export function operationOf(record: CallRecord): Operation | undefined {
  if (record.kind === "made") return { type: "create", phase: "made", startedAt: 0, id: record.id };
  if (record.kind !== "calling") return undefined;
  const { newestIdBefore: id, newestAtMsBefore: at, sentAtMs: startedAt } = record.intent;
  const after = id === Number.MAX_SAFE_INTEGER ? undefined : { id, at };
  return { type: "create", phase: "calling", startedAt, after };
}

/** Returns what an open call was sent with. */
export function intentOf({ startedAt: sentAtMs, after }: Operation, managed: Managed): CreateIntent {
  if (after === undefined) return { ...youngerThan(managed), sentAtMs };
  return { newestIdBefore: after.id, newestAtMsBefore: after.at, sentAtMs };
}

/** Without a note of what existed before, only an entry that is younger than the managed resource may be its own. */
function youngerThan(managed: Managed): Pick<CreateIntent, "newestIdBefore" | "newestAtMsBefore"> {
  return { newestIdBefore: Number.MAX_SAFE_INTEGER, newestAtMsBefore: createdAt(managed) };
}

function createdAt({ metadata }: Managed): number {
  return timeOf(metadata.creationTimestamp) ?? 0;
}

function latest(marks: readonly string[], managed: Managed): number {
  return Math.max(createdAt(managed), ...marks.map((mark) => timeOf(mark) ?? 0));
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}
