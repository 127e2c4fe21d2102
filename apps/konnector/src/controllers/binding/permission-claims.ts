/** Effect of the answers to an export's permission claims: reported before anything is synced, and never ignored. */
import type { APIServiceBindingSpec, APIServiceExportSpec, PermissionClaim } from "@klutch/api";
import { falseCondition, type NewCondition, trueCondition } from "@klutch/kube-core";
import { claimFaults, effectiveClaims, missingClaims } from "@klutch/sync";
import type { ClaimedTypes, HonouredClaim } from "../claimed-resource/claimed-type.ts";

/** The outcome. */
export interface ClaimCheck {
  readonly condition: NewCondition;
  /** False when a required claim is not accepted. */
  readonly mayWork: boolean;
  readonly honoured: readonly HonouredClaim[];
  /** Set when a claimed resource is not served yet. */
  readonly requeueAfterMs?: number | undefined;
}

const conditionType = "PermissionClaimsValid";
const notServedRetryMs = 10_000;

/** Checks the claims of one binding. Throws when the app cluster's discovery cannot be asked. */
export async function checkClaims(
  types: ClaimedTypes,
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
    const type = await types.typeOf(claim, signal);
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
  return { condition, mayWork: true, honoured, requeueAfterMs: isIncomplete ? notServedRetryMs : undefined };
}

function apiVersionOf({ group = "", version, resource }: PermissionClaim): string {
  return `${resource} of ${group === "" ? version : `${group}/${version}`}`;
}
