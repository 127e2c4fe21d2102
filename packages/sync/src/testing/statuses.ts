/** Statuses for the tests of this package. */
import { specDigestAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import type { StatusView } from "../status-view.ts";

/** A time. */
export const before = "2026-01-01T00:00:00Z";
/** View of a schema with every field that can be reported. */
export const fullView: StatusView = {
  hasNumber: true,
  conditions: ["lastTransitionTime", "message", "observedGeneration", "reason"],
  mayBeUnknown: true,
  isSubresource: true,
  isIgnored: false,
};

/** An object as far as its status is concerned. */
export type Side = Pick<DynamicObject, "metadata" | "status">;
/** A claim of this generation. */
export const claimOf = (generation: number, status?: unknown, more: object = {}): Side => ({
  metadata: { generation, ...more },
  status,
});
/** An upstream object of this generation. */
export const providerOf = (generation: number, status?: unknown, mark?: string): Side => ({
  metadata: { generation, ...(mark === undefined ? {} : { annotations: { [specDigestAnnotation]: mark } }) },
  status,
});
/** A condition `Ready`. */
export const ready = (status: string, more: object = {}): object => ({
  type: "Ready",
  status,
  reason: status === "True" ? "Available" : "Creating",
  lastTransitionTime: before,
  ...more,
});
