/**
 * The record of what is being done at the broker, as an annotation of the managed resource. It is written before the call, so a
 * crash at any point leaves either no trace and no call, or a trace that says which call to repeat (DESIGN §6).
 */
import type { KubeObject } from "@klutch/kube";
import { isRecord } from "@klutch/kube";

/** Where the record is kept. */
export const operationAnnotation = "anynines.crossplane.io/broker-operation";

/** An operation at the broker. */
export interface BrokerOperation {
  readonly type: "create" | "update" | "delete";
  /** `calling`: the answer is not known. `polling`: the broker accepted and works. `failed`: it said it failed. */
  readonly phase: "calling" | "polling" | "failed";
  /** The broker's key, if it gave one. */
  readonly key?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** What the broker said. */
  readonly description?: string | undefined;
  /** `metadata.generation` that it was started for; a failed update is tried again when the spec changes. */
  readonly generation?: number | undefined;
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
  const { type, phase, key, startedAt, description, generation } = value;
  if (type !== "create" && type !== "update" && type !== "delete") return undefined;
  return {
    type,
    phase: phase === "polling" || phase === "failed" ? phase : "calling",
    startedAt: typeof startedAt === "number" ? startedAt : 0,
    ...(typeof key === "string" ? { key } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof generation === "number" ? { generation } : {}),
  };
}
