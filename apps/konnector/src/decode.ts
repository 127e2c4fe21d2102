/**
 * The boundary where cached objects become typed kinds: their own API server validated them against the CRDs. What a stranger's
 * server gives is read by the parsers of @klutch/api. The only file with `as`.
 */
import type { APIServiceBinding } from "@klutch/api";
import { type Condition, type DynamicObject, isRecord, type KubeObject } from "@klutch/kube-core";
import type { SyncObject } from "@klutch/sync";

export const asBinding = (object: DynamicObject): APIServiceBinding => object as unknown as APIServiceBinding;
export const asDynamic = (object: KubeObject | SyncObject): DynamicObject => object as DynamicObject;

/** Conditions of any object; a metav1 condition has the same first fields. */
export function conditionsOf(object: KubeObject | undefined): readonly Condition[] {
  const status = object?.status;
  return isRecord(status) && Array.isArray(status["conditions"]) ? (status["conditions"] as Condition[]) : [];
}
