/**
 * The record of an operation at a backend, as an annotation of the managed resource. It is written before the call, so a crash at any point
 * leaves either no trace and no call, or a trace that says which call to repeat.
 */
import { isRecord, type KubeObject } from "@klutch/kube-core";
import { numberOf, parsedJson, textOf } from "./values.ts";

/** Annotation that keeps the record of instances, bindings, backups and restores. */
export const operationAnnotation = "anynines.crossplane.io/broker-operation";

/** Names the thing at the broker, beside what follows from the managed resource. */
export type OperationTarget = Pick<Operation, "serviceId" | "planId" | "instanceId">;

/** One operation at a backend. */
export interface Operation {
  /** `discard` deletes what a failed create left, so that it can be created again. */
  readonly type: "create" | "update" | "delete" | "discard";
  /**
   * `calling`: the answer is not known. `polling`: the broker accepted and works. `failed`: it said that it failed. `made`: of credential
   * versions, backups and restores only: the backend has made it.
   */
  readonly phase: "calling" | "polling" | "made" | "failed";
  /** The broker's key for the operation, if it gave one. */
  readonly key?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The broker's words; of an update: the change, in words. */
  readonly description?: string | undefined;
  /** `metadata.generation` that it was started for; an operation that failed is tried again when the spec changes. */
  readonly generation?: number | undefined;
  /**
   * Of a create and what follows from it: the plan that was asked for, which the spec may not name any more. Of an update: the plan before
   * it.
   */
  readonly serviceId?: string | undefined;
  readonly planId?: string | undefined;
  /** For a binding: the id of the instance at its broker. */
  readonly instanceId?: string | undefined;
  /**
   * Of a discard: what the create failed with, which is not tried again until the spec changes; absent: it is created again at once. Of a
   * credential version: what failed last.
   */
  readonly failure?: string | undefined;
  /** For a deletion: how often in a row the broker accepted it and then failed, and when last, in milliseconds since the epoch. */
  readonly failures?: number | undefined;
  readonly failedAt?: number | undefined;
  /** For a credential version: no observation before this time, in milliseconds since the epoch. */
  readonly againAt?: number | undefined;
  /** For a failed create: nothing of it is left. */
  readonly discarded?: boolean | undefined;
  /** For a backup or a restore: the newest one at the backup manager before the first try. A newer one may be ours. */
  readonly after?: NewestBefore | undefined;
  /** For a backup or a restore: its number at the backup manager. */
  readonly id?: number | undefined;
}

/** The newest entry of a backup manager's list, by its own numbers and its own clock. */
export interface NewestBefore {
  /** The highest id; 0 when it had nothing. */
  readonly id: number;
  /** The latest time, in milliseconds since the epoch. */
  readonly at?: number | undefined;
}

/** Returns the recorded operation; undefined when there is none or the annotation was damaged. */
export function recordedOperation(object: KubeObject): Operation | undefined {
  const value = parsedJson(object.metadata.annotations?.[operationAnnotation]);
  if (!isRecord(value)) return undefined;
  const { type, phase, discarded, after } = value;
  if (type !== "create" && type !== "update" && type !== "delete" && type !== "discard") return undefined;
  return {
    type,
    phase: phase === "polling" || phase === "failed" ? phase : "calling",
    startedAt: numberOf(value["startedAt"]) ?? 0,
    key: textOf(value["key"]),
    description: textOf(value["description"]),
    generation: numberOf(value["generation"]),
    serviceId: textOf(value["serviceId"]),
    planId: textOf(value["planId"]),
    instanceId: textOf(value["instanceId"]),
    failure: textOf(value["failure"]),
    failures: numberOf(value["failures"]),
    failedAt: numberOf(value["failedAt"]),
    discarded: discarded === true ? true : undefined,
    after: afterOf(after),
  };
}

function afterOf(value: unknown): NewestBefore | undefined {
  const id = isRecord(value) ? numberOf(value["id"]) : undefined;
  return isRecord(value) && id !== undefined ? { id, at: numberOf(value["at"]) } : undefined;
}
