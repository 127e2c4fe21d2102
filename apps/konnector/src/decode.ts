/**
 * The boundary where cached objects become typed kinds: their own API server validated them against the CRDs. What a stranger's
 * server gives is read by the parsers of @klutch/api. The only file with `as`.
 */
import type { APIServiceBinding } from "@klutch/api";
import { type DynamicObject, isRecord, type KubeObject } from "@klutch/kube-core";

export const asBinding = (object: DynamicObject): APIServiceBinding => object as unknown as APIServiceBinding;
export const asDynamic = (object: KubeObject): DynamicObject => object as DynamicObject;

/** Text of a Secret's key; undefined when the key is absent or empty. */
export function secretText(secret: DynamicObject | undefined, key: string): string | undefined {
  const data = secret?.["data"];
  const value = isRecord(data) ? data[key] : undefined;
  return typeof value === "string" && value !== ""
    ? Buffer.from(value, "base64").toString("utf8")
    : undefined;
}
