/** Evidence that the status of an upstream object is about its present spec: its generations, and the echo of the mark on it. */
import { specDigestAnnotation, specObservedCondition, specObservedReason } from "@klutch/api";
import { type DynamicObject, isRecord } from "@klutch/kube-core";
import { type AnyCondition, asConditions, conditionOf } from "./status-conditions.ts";
import { isPlain, type StatusView } from "./status-view.ts";

/** An object as far as its status is concerned. */
export type WithStatus = Pick<DynamicObject, "metadata" | "status">;

/**
 * Whether the status as a whole is. A number must be equal: one that is ahead is as wrong as one that is behind, for after a restore of the
 * provider it can be ahead of its object. What has no number or no echo gives no evidence against it. A status of another shape than its
 * schema's is about nothing.
 */
export function isObserved(object: WithStatus, view: StatusView): boolean {
  if (view.isIgnored || isPlain(view)) return true;
  const { metadata, status } = object;
  if (!isRecord(status)) return false;
  if (view.hasNumber && !isOwn(object, status["observedGeneration"], view)) return false;
  if (view.conditions === undefined) return true;
  const { conditions } = status;
  if (conditions !== undefined && !Array.isArray(conditions)) return false;
  const echo = conditionOf(asConditions(status), specObservedCondition);
  if (echo === undefined) return true;
  const mark = metadata.annotations?.[specDigestAnnotation];
  return mark !== undefined && echo.status === "True" && echo["reason"] === specObservedReason(mark);
}

/** Returns true if the condition's own observedGeneration says that it is about the present spec. */
export function isConditionCurrent(object: WithStatus, condition: AnyCondition, view: StatusView): boolean {
  if (view.conditions?.includes("observedGeneration") !== true) return true;
  return isOwn(object, condition["observedGeneration"], view);
}

/** Compares a status's generation with the object's; true where a status write raises the generation or none exists, because numbers say nothing there. */
function isOwn({ metadata }: WithStatus, number: unknown, view: StatusView): boolean {
  const { generation } = metadata;
  if (view.isIgnored || !view.isSubresource || generation === undefined) return true;
  return number === undefined || number === null || number === generation;
}
