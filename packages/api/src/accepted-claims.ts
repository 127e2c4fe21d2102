/**
 * The record of the permission claims that a person accepted in an app cluster: an annotation on the konnector's ClusterRole of the API, which
 * the konnector cannot write. A binding says what the konnector does; only the record says what it may.
 */
import { jsonEqual } from "@klutch/kube-core";
import { accepts } from "@klutch/schema";
import { claimRights } from "./admission/konnector-scope.ts";
import {
  type AnsweredPermissionClaim,
  type PermissionClaim,
  permissionClaim,
} from "./kinds/permission-claim.ts";

/** Annotation on the konnector's ClusterRole of a bound API: the accepted permission claims, as JSON. */
export const acceptedClaimsAnnotation = "klutch.anynines.com/accepted-permission-claims";

/** Value of the annotation. Throws a RangeError for more than an object's annotations may hold. */
export function acceptedClaimsText(claims: readonly AnsweredPermissionClaim[]): string {
  const accepted = claims.filter(({ state }) => state === "Accepted");
  const text = JSON.stringify(accepted.map(({ state: _accepted, ...claim }) => claim));
  if (text.length > longestRecord)
    throw new RangeError(
      `the accepted permission claims have ${text.length} characters, more than ${longestRecord}`,
    );
  return text;
}

/** Kubernetes allows 256 KiB for all annotations of an object. */
const longestRecord = 200_000;

/** Reads the annotation. Undefined if it is absent or no list of claims. */
export function parseAcceptedClaims(text: string | undefined): readonly PermissionClaim[] | undefined {
  if (text === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(text);
    if (!Array.isArray(claims)) return undefined;
    return claims.every((claim: unknown) => accepts(permissionClaim, claim)) ? claims : undefined;
  } catch {
    return undefined;
  }
}

/** Returns true if the record has a claim that selects the same objects of the same owner and gives every right of this one. */
export function isRecorded(claim: PermissionClaim, record: readonly PermissionClaim[]): boolean {
  return record.some((recorded) => {
    const [given, asked] = [new Set(claimRights(recorded)), claimRights(claim)];
    const isGiven = asked.length > 0 && asked.every((right) => given.has(right));
    return isGiven && jsonEqual(selected(recorded), selected(claim));
  });
}

/** The part of a selector that gives no right of its own. */
function selected({ selector = {} }: PermissionClaim): object {
  const { owner = "", labelSelectors = [], fieldSelectors = [] } = selector;
  return { owner, labelSelectors, fieldSelectors };
}
