/**
 * The record of what is being done at the broker, as an annotation of the managed resource. It is written before the call, so a
 * crash at any point leaves either no trace and no call, or a trace that says which call to repeat.
 */
import { isRecord, type KubeObject } from "@klutch/kube-core";

/** Where the record is kept. */
export const operationAnnotation = "anynines.crossplane.io/broker-operation";

/** Which thing at the broker an operation is about, besides what follows from the managed resource. */
export type OperationTarget = Pick<BrokerOperation, "serviceId" | "planId" | "instanceId">;

/** An operation at the broker. */
export interface BrokerOperation {
  /** `discard`: what a failed create left is deleted, to make it anew. */
  readonly type: "create" | "update" | "delete" | "discard";
  /** `calling`: the answer is not known. `polling`: the broker accepted and works. `failed`: it said it failed. */
  readonly phase: "calling" | "polling" | "failed";
  /** The broker's key, if it gave one. */
  readonly key?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** What the broker said. */
  readonly description?: string | undefined;
  /** `metadata.generation` that it was started for; what failed is tried again when the spec changes. */
  readonly generation?: number | undefined;
  /**
   * Of a create and what follows from it: the plan that was asked for, which the spec may not name any more. Of an update: the plan before
   * it.
   */
  readonly serviceId?: string | undefined;
  readonly planId?: string | undefined;
  /** Of a binding: the id of the instance at its broker. */
  readonly instanceId?: string | undefined;
  /** Of a discard: what the create failed with, which is not tried again until the spec changes. Absent: it is made anew at once. */
  readonly failure?: string | undefined;
  /** Of a deletion: how often in a row the broker accepted it and then failed, and when last, in milliseconds since the epoch. */
  readonly failures?: number | undefined;
  readonly failedAt?: number | undefined;
  /** Of a failed create: what it left is deleted. */
  readonly discarded?: boolean | undefined;
  /** Of a backup or a restore: what the backup manager had before the first try. What is newer may be ours. */
  readonly after?: NewestBefore | undefined;
}

/** The newest of what a backup manager had, by its own numbers and its own clock. */
export interface NewestBefore {
  /** The highest id; 0 when it had nothing. */
  readonly id: number;
  /** The latest time, in milliseconds since the epoch. */
  readonly at?: number | undefined;
}

/** The recorded operation; undefined when there is none or the annotation was damaged. */
export function recordedOperation(object: KubeObject): BrokerOperation | undefined {
  const text = object.metadata.annotations?.[operationAnnotation];
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { type, phase, key, startedAt, description, generation, serviceId, planId, after } = value;
  const { failure, failures, failedAt, discarded, instanceId } = value;
  if (type !== "create" && type !== "update" && type !== "delete" && type !== "discard") return undefined;
  return {
    type,
    phase: phase === "polling" || phase === "failed" ? phase : "calling",
    startedAt: typeof startedAt === "number" ? startedAt : 0,
    ...(typeof key === "string" ? { key } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof generation === "number" ? { generation } : {}),
    ...(typeof serviceId === "string" ? { serviceId } : {}),
    ...(typeof planId === "string" ? { planId } : {}),
    ...(typeof failure === "string" ? { failure } : {}),
    ...(typeof failures === "number" ? { failures } : {}),
    ...(typeof failedAt === "number" ? { failedAt } : {}),
    ...(discarded === true ? { discarded } : {}),
    ...(typeof instanceId === "string" ? { instanceId } : {}),
    ...afterOf(after),
  };
}

function afterOf(value: unknown): Pick<BrokerOperation, "after"> {
  if (!isRecord(value) || typeof value["id"] !== "number") return {};
  const { id, at } = value;
  return { after: { id, ...(typeof at === "number" ? { at } : {}) } };
}
