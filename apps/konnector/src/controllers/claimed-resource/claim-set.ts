/** The claim syncers of one session: one for each claimed resource, whatever number of APIs claim it. */
import { isBuiltInGroup, type PermissionClaim } from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import type { SharedCache } from "@klutch/kube-runtime";
import { type ClaimScope, claimScopeOf } from "@klutch/sync";
import { jsonHash, keyOfRef, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import type { ConsumerCluster, Environment, ProviderCluster } from "../../clusters.ts";
import { asBinding } from "../../decode.ts";
import type { EventRecorder } from "../../events.ts";
import type { NamespaceMap } from "../service-namespace/namespace-map.ts";
import { ClaimSyncer } from "./claim-syncer.ts";
import type { ClaimedType, HonouredClaim } from "./claimed-type.ts";

/** What claim syncers share. */
export interface ClaimSetOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMap;
  readonly bindings: SharedCache;
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

interface AcceptedClaims {
  readonly claims: readonly HonouredClaim[];
  readonly clusterWide: boolean;
}

interface Wanted {
  readonly type: ClaimedType;
  readonly scopes: readonly ClaimScope[];
  readonly clusterWide: boolean;
}

const core = { group: "", version: "v1", namespaced: true, statusSubresource: false };

/** See the module comment. Not for concurrent use. */
export class ClaimSet implements AsyncDisposable {
  readonly #options: ClaimSetOptions;
  readonly #accepted = new Map<string, AcceptedClaims>();
  readonly #running = new Map<string, { readonly signature: string; readonly syncer: ClaimSyncer }>();
  readonly #types = new Map<string, ClaimedType>([
    ["secrets./v1", { ...core, plural: "secrets", kind: "Secret" }],
    ["configmaps./v1", { ...core, plural: "configmaps", kind: "ConfigMap" }],
  ]);

  constructor(options: ClaimSetOptions) {
    this.#options = options;
  }

  /** Takes over the claims of one API as they are accepted now; earlier ones of it that are not among them end. */
  async accept(api: string, claims: readonly HonouredClaim[], clusterWide: boolean): Promise<void> {
    this.#accepted.set(api, { claims, clusterWide });
    await this.#adjust();
  }

  /** The API is no longer bound. */
  async withdraw(api: string): Promise<void> {
    if (this.#accepted.delete(api)) await this.#adjust();
  }

  /** The resource that a claim names; undefined when the app cluster does not serve it. */
  async typeOf(claim: PermissionClaim, signal: AbortSignal): Promise<ClaimedType | undefined> {
    const key = keyOf(claim);
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    const { client } = this.#options.consumer;
    const query = { group: claim.group ?? "", version: claim.version, plural: claim.resource };
    const found = await discoverResource(client, query, { signal });
    if (found === undefined) return undefined;
    const status = await discoverResource(
      client,
      { ...query, plural: `${claim.resource}/status` },
      { signal },
    );
    const type = { ...found, statusSubresource: status !== undefined };
    this.#types.set(key, type);
    return type;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#accepted.clear();
    await this.#adjust();
  }

  async #adjust(): Promise<void> {
    const wanted = this.#wanted();
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
        syncer: new ClaimSyncer({
          ...this.#options,
          ...next,
          isPrivate: (ref) => isSecret(next.type) && this.#isKubeconfig(ref),
        }),
      });
    }
  }

  /** Whether the Secret is the way to a provider, of this session or another. */
  #isKubeconfig(ref: ObjectRef): boolean {
    const key = keyOfRef(ref);
    return [...this.#options.bindings.informer.list()].some(
      (object) => keyOfRef(asBinding(object).spec.kubeconfigSecretRef) === key,
    );
  }

  #wanted(): ReadonlyMap<string, Wanted> {
    const wanted = new Map<string, Wanted>();
    for (const { claims, clusterWide } of this.#accepted.values()) {
      for (const { claim, type } of claims) {
        const key = keyOf(claim);
        const previous = wanted.get(key);
        wanted.set(key, {
          type,
          scopes: [...(previous?.scopes ?? []), claimScopeOf(claim)],
          // A provider gives rights on kinds of Kubernetes itself in service namespaces only, whatever the scope.
          clusterWide: (clusterWide && !isBuiltInGroup(type.group)) || previous?.clusterWide === true,
        });
      }
    }
    return wanted;
  }
}

const isSecret = ({ group, plural }: ResourceType): boolean => group === "" && plural === "secrets";

function keyOf({ resource, group = "", version }: PermissionClaim): string {
  return `${resource}.${group}/${version}`;
}
