/** What the answers to an export's permission claims mean for the binding: told loudly, before anything is synced (never ignored). */
import { type APIServiceBindingSpec, type APIServiceExportSpec, type PermissionClaim } from "@klutch/api";
import { falseCondition, type NewCondition, trueCondition } from "@klutch/kube-core";
import { claimFaults, effectiveClaims, missingClaims } from "@klutch/sync";
import type { ClaimSet } from "../claimed-resource/claim-set.ts";
import type { HonouredClaim } from "../claimed-resource/claimed-type.ts";

/** The outcome. */
export interface ClaimCheck {
  readonly condition: NewCondition;
  /** False when a required claim is not accepted. */
  readonly mayWork: boolean;
  readonly honoured: readonly HonouredClaim[];
  /** Set when a claimed resource is not served yet. */
  readonly lookAgainMs?: number | undefined;
}

const conditionType = "PermissionClaimsValid";
const lookAgainMs = 10_000;

/** Checks the claims of one binding. Throws when the app cluster's discovery cannot be asked. */
export async function checkClaims(
  claims: ClaimSet,
  binding: APIServiceBindingSpec,
  exported: APIServiceExportSpec | undefined,
  signal: AbortSignal,
): Promise<ClaimCheck> {
  const answered = binding.permissionClaims ?? [];
  const asked = exported?.permissionClaims ?? [];
  const missing = missingClaims(answered, asked);
  if (missing.length > 0) {
    const names = missing.map(
      ({ claim, rejected }) => `${claim.resource} (${rejected ? "rejected" : "not answered"})`,
    );
    const message = `the API needs permissions that were not accepted: ${names.join(", ")}. Set their state to Accepted in spec.permissionClaims, or unbind`;
    return {
      condition: falseCondition(conditionType, "RequiredClaimRejected", "Error", message),
      mayWork: false,
      honoured: [],
    };
  }
  const honoured: HonouredClaim[] = [];
  const faults: string[] = [];
  let isIncomplete = false;
  for (const claim of effectiveClaims(answered, asked)) {
    const type = await claims.typeOf(claim, signal);
    if (type === undefined) {
      isIncomplete = true;
      faults.push(
        `permission claim on ${claim.resource}: this cluster does not serve ${apiVersionOf(claim)}`,
      );
      continue;
    }
    const found = claimFaults(claim, {
      namespaced: type.namespaced,
      clusterWide: exported?.informerScope === "Cluster",
    });
    if (found.length === 0) honoured.push({ claim, type });
    faults.push(...found);
  }
  const condition =
    faults.length === 0
      ? trueCondition(conditionType)
      : falseCondition(conditionType, "ClaimCannotBeHonoured", "Error", faults.join("; "));
  return { condition, mayWork: true, honoured, lookAgainMs: isIncomplete ? lookAgainMs : undefined };
}

function apiVersionOf({ group = "", version, resource }: PermissionClaim): string {
  return `${resource} of ${group === "" ? version : `${group}/${version}`}`;
}
