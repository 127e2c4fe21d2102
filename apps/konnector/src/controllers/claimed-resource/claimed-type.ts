/** The resources that accepted permission claims name, as the app cluster serves them. */
import type { PermissionClaim } from "@klutch/api";
import { discoverResource, type KubeClient } from "@klutch/kube";
import { configMaps, type ResourceType, secrets } from "@klutch/kube-core";

/** A claimed resource, and whether its status is written apart. */
export interface ClaimedType extends ResourceType {
  readonly statusSubresource: boolean;
}

/** A permission claim that is in force, and the resource it names. */
export interface HonouredClaim {
  readonly claim: PermissionClaim;
  readonly type: ClaimedType;
}

/** Asks the app cluster once for each claimed resource; Secrets and ConfigMaps are known. */
export class ClaimedTypes {
  readonly #client: KubeClient;
  readonly #known = new Map<string, ClaimedType>([
    ["secrets./v1", { ...secrets, statusSubresource: false }],
    ["configmaps./v1", { ...configMaps, statusSubresource: false }],
  ]);

  /** `client` of the app cluster. */
  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** The resource that a claim names; undefined while the app cluster does not serve it. */
  async typeOf(claim: PermissionClaim, signal: AbortSignal): Promise<ClaimedType | undefined> {
    const key = claimedResourceKey(claim);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const query = { group: claim.group ?? "", version: claim.version, plural: claim.resource };
    const found = await discoverResource(this.#client, query, { signal });
    if (found === undefined) return undefined;
    const status = await discoverResource(
      this.#client,
      { ...query, plural: `${claim.resource}/status` },
      { signal },
    );
    const type = { ...found, statusSubresource: status !== undefined };
    this.#known.set(key, type);
    return type;
  }
}

/** Names the resource of a claim: `<plural>.<group>/<version>`. */
export function claimedResourceKey({ resource, group = "", version }: PermissionClaim): string {
  return `${resource}.${group}/${version}`;
}
