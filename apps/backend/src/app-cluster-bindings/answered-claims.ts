/** Answers to a template's claims in control-plane mode, where the operator of the provider decides for both sides. */
import { type AnsweredPermissionClaim, type PermissionClaim } from "@klutch/api";
import { canonicalJson } from "@klutch/kube-core";

/**
 * The template's claims, each with the answer it has already, else `Accepted`. A claim whose text changed keeps the answer of the
 * one it replaces: the first claim on the same resource that is in no other way accounted for. Claims that the template no longer has
 * keep their place at the end, without effect, so that a template that is missing for a moment costs no answer.
 */
export function answeredClaims(
  template: readonly PermissionClaim[],
  existing: readonly AnsweredPermissionClaim[],
): readonly AnsweredPermissionClaim[] {
  const left = new Set(existing);
  const take = (fits: (claim: AnsweredPermissionClaim) => boolean): AnsweredPermissionClaim | undefined => {
    const found = [...left].find(fits);
    if (found !== undefined) left.delete(found);
    return found;
  };
  // Exact ones first, so that a changed claim does not take the answer of another one.
  const exact = template.map((claim) => take((other) => textOf(other) === textOf(claim)));
  const answers = template.map(
    (claim, index) => (exact[index] ?? take((other) => resourceOf(other) === resourceOf(claim)))?.state,
  );
  const answered = template.map((claim, index) => ({ ...claim, state: answers[index] ?? "Accepted" }));
  return [...answered, ...left];
}

function textOf(claim: PermissionClaim | AnsweredPermissionClaim): string {
  return canonicalJson({ ...claim, state: undefined });
}

function resourceOf(claim: PermissionClaim): string {
  return `${claim.group ?? ""}/${claim.resource}`;
}
