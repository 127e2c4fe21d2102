/** The resources that accepted permission claims name. */
import type { PermissionClaim } from "@klutch/api";
import type { ResourceType } from "@klutch/kube-core";

/** A claimed resource, and whether its status is written apart. */
export interface ClaimedType extends ResourceType {
  readonly statusSubresource: boolean;
}

/** A permission claim that is in force, and the resource it names. */
export interface HonouredClaim {
  readonly claim: PermissionClaim;
  readonly type: ClaimedType;
}
