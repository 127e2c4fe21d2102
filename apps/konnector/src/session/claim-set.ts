/** The claim syncers of one session: one for each claimed resource, whatever number of APIs claim it. */
import {
  type APIServiceBindingSpec,
  type APIServiceExportSpec,
  configMaps,
  type PermissionClaim,
  secrets,
} from "@klutch/api";
import { discoverResource, type ResourceType } from "@klutch/kube";
import { type ClaimScope, effectiveClaims, jsonHash } from "@klutch/sync";
import type { ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import type { EventRecorder } from "../events.ts";
import { ClaimSyncer } from "../sync/claim-syncer.ts";
import type { NamespaceMap } from "./namespace-map.ts";

/** What claim syncers share. */
export interface ClaimSetOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMap;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

interface AcceptedClaims {
  readonly claims: readonly PermissionClaim[];
  readonly clusterWide: boolean;
}

interface Wanted {
  readonly type: ResourceType;
  readonly scopes: readonly ClaimScope[];
  readonly clusterWide: boolean;
}

/** See the module comment. Not for concurrent use. */
export class ClaimSet implements AsyncDisposable {
  readonly #options: ClaimSetOptions;
  readonly #accepted = new Map<string, AcceptedClaims>();
  readonly #running = new Map<string, { readonly signature: string; readonly syncer: ClaimSyncer }>();
  readonly #types = new Map<string, ResourceType>([
    ["secrets./v1", secrets],
    ["configmaps./v1", configMaps],
  ]);

  constructor(options: ClaimSetOptions) {
    this.#options = options;
  }

  /** Takes over the claims of one API as they are accepted now. */
  async accept(
    api: string,
    binding: APIServiceBindingSpec,
    exported: APIServiceExportSpec,
    signal: AbortSignal,
  ): Promise<void> {
    const claims = effectiveClaims(binding.permissionClaims ?? [], exported.permissionClaims ?? []);
    this.#accepted.set(api, { claims, clusterWide: exported.informerScope === "Cluster" });
    await this.#adjust(signal);
  }

  /** The API is no longer bound. */
  async withdraw(api: string): Promise<void> {
    if (this.#accepted.delete(api)) await this.#adjust(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#accepted.clear();
    await this.#adjust(undefined);
  }

  async #adjust(signal: AbortSignal | undefined): Promise<void> {
    const wanted = await this.#wanted(signal);
    for (const [key, { signature, syncer }] of this.#running) {
      const next = wanted.get(key);
      if (next !== undefined && jsonHash(next) === signature) continue;
      this.#running.delete(key);
      await syncer[Symbol.asyncDispose]();
    }
    for (const [key, next] of wanted) {
      if (this.#running.has(key)) continue;
      this.#running.set(key, {
        signature: jsonHash(next),
        syncer: new ClaimSyncer({ ...this.#options, ...next }),
      });
    }
  }

  async #wanted(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Wanted>> {
    const wanted = new Map<string, Wanted>();
    for (const { claims, clusterWide } of this.#accepted.values()) {
      for (const claim of claims) {
        const key = `${claim.resource}.${claim.group ?? ""}/${claim.version}`;
        const type = await this.#typeOf(key, claim, signal);
        if (type === undefined) continue;
        const previous = wanted.get(key);
        wanted.set(key, {
          type,
          scopes: [...(previous?.scopes ?? []), scopeOf(claim)],
          clusterWide: clusterWide || previous?.clusterWide === true,
        });
      }
    }
    return wanted;
  }

  async #typeOf(
    key: string,
    claim: PermissionClaim,
    signal: AbortSignal | undefined,
  ): Promise<ResourceType | undefined> {
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    const { logger } = this.#options.environment;
    const query = { group: claim.group ?? "", version: claim.version, plural: claim.resource };
    const found = await discoverResource(this.#options.consumer.client, query, { signal });
    if (found === undefined) {
      logger.warn("a claimed resource is not served by the app cluster, leaving the claim out", {
        claim: key,
      });
      return undefined;
    }
    if (!found.namespaced) {
      logger.warn("claims on cluster-scoped resources are not yet available, leaving the claim out", {
        claim: key,
      });
      return undefined;
    }
    this.#types.set(key, found);
    return found;
  }
}

function scopeOf({ selector = {} }: PermissionClaim): ClaimScope {
  return {
    owner: selector.owner,
    names: selector.names ?? ["*"],
    namespaces: selector.namespaces ?? ["*"],
    labelSelectors: selector.labelSelectors ?? [],
  };
}
