/** Plan for one API of a provider: bind, unbind, or let go. */
import type { APIServiceExportSpec, ForeignExport } from "@klutch/api";
import {
  alarmCondition,
  type DynamicObject,
  findCondition,
  isOwnedBy,
  type NewCondition,
} from "@klutch/kube-core";
import { identityChange, type UnbindPolicy, unbindPolicyOf } from "@klutch/sync";

/** Observed state of one API. */
export interface ObservedApi {
  /** Its binding to this provider; undefined when there is none that this provider has a say in. */
  readonly binding: DynamicObject | undefined;
  readonly exported: ForeignExport | undefined;
  /** CRD of the app cluster. */
  readonly crd: DynamicObject | undefined;
  /** True if the caches of exports and of the CRD are filled; until then, objects that they lack may exist. */
  readonly isComplete: boolean;
}

/** Decision about the API. */
export type BindingPlan =
  /** Nothing of this provider binds it: nothing of it is synced. */
  | { readonly do: "letGo" }
  | { readonly do: "wait" }
  | { readonly do: "bind"; readonly binding: DynamicObject }
  /** Its objects are released, with the help of the export. */
  | {
      readonly do: "release";
      readonly binding: DynamicObject;
      readonly crd: DynamicObject;
      readonly spec: APIServiceExportSpec;
      readonly policy: UnbindPolicy;
    }
  /** Its objects cannot be released in order; a person decides. */
  | { readonly do: "cannotRelease"; readonly binding: DynamicObject; readonly why: string }
  /** Nothing of it is left: the binding may go. */
  | { readonly do: "finish"; readonly binding: DynamicObject };

/** Decides for one API. */
export function planBinding({ binding, exported, crd, isComplete }: ObservedApi): BindingPlan {
  if (binding === undefined) return { do: "letGo" };
  if (!isComplete) return { do: "wait" };
  if (binding.metadata.deletionTimestamp === undefined) return { do: "bind", binding };
  if (crd === undefined || !isOwnedBy(crd, binding.metadata.uid)) return { do: "finish", binding };
  const usable = usableSpec(exported, crd);
  return typeof usable === "string"
    ? { do: "cannotRelease", binding, why: usable }
    : { do: "release", binding, crd, spec: usable, policy: unbindPolicyOf(binding) };
}

/** The export with whose help objects can be released, or why they cannot. */
function usableSpec(exported: ForeignExport | undefined, crd: DynamicObject): APIServiceExportSpec | string {
  if (exported === undefined) return "the provider no longer offers this API";
  if (exported.spec === undefined) return `the provider's export cannot be used (${exported.problem})`;
  const change = identityChange(crd, exported.spec);
  return change === undefined
    ? exported.spec
    : `the provider's export is no longer the API that was bound (${change})`;
}

/** The condition of a binding whose objects cannot be released. */
export function cannotRelease(why: string): NewCondition {
  const message = `${why}, so its objects cannot be released in order. To let go of the claims alone, set the annotation klutch.anynines.com/unbind-policy to Abandon`;
  return alarmCondition("Unbinding", "APIServiceExportNotFound", "Error", message);
}

/** Returns true if the provider says that it revoked the access to the API. */
export function isRevoked(exported: ForeignExport | undefined): boolean {
  const inSync = findCondition(exported?.status.conditions, "ProviderInSync");
  return inSync?.status === "False" && inSync.reason === "Revoked";
}

/** Says that nothing of an API (`<plural>.<group>`) is synced. */
export function revokedWords(api: string): string {
  return `The platform revoked the access of this cluster to ${api}. Existing objects stay there and are not synced. Ask the platform team, then run kubectl bind again.`;
}

/** Returns true if the provider says that it makes no new objects of the API, and lets existing ones live. */
export function isWithdrawn(exported: ForeignExport | undefined): boolean {
  const inSync = findCondition(exported?.status.conditions, "ProviderInSync");
  return inSync?.status === "False" && inSync.reason === "NotOffered";
}
