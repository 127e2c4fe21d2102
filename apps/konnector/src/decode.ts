/**
 * The boundary where cached objects become typed kinds: their own API server validated them against the CRDs. What a stranger's
 * server gives is read by the parsers of @klutch/api. The only file with `as`.
 */
import type { APIServiceBinding } from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";

export const asBinding = (object: DynamicObject): APIServiceBinding => object as unknown as APIServiceBinding;
export const asDynamic = (object: KubeObject): DynamicObject => object as DynamicObject;
