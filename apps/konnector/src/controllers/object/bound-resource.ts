/** One bound API, as all parts of its sync see it. */
import type { ResourceType } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import type { Isolation, StatusView, UnbindPolicy } from "@klutch/sync";
import type { BoundDigest } from "../../digests.ts";
import type { MultiNamespaceInformer } from "../service-namespace/multi-namespace-informer.ts";
import type { SecretCauses } from "../claimed-resource/secret-causes.ts";
import type { TakenNames } from "../claimed-resource/taken-names.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import type { CreationHold } from "./creation-hold.ts";
import type { DeletedNamespaces } from "./deleted-namespaces.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import type { LimitHold } from "./limit-hold.ts";
import type { OrphanCollector } from "./orphan-collector.ts";

/** Names the synced resource, and what its parts share. Never changes: another shape needs another reconciler. */
export interface BoundResource extends ProviderParts {
  /** The resource in the app cluster. */
  readonly type: ResourceType;
  /** The resource on the provider: it has another scope than `type` under isolation Namespaced. */
  readonly providerType: ResourceType;
  /** For cluster-scoped resources. */
  readonly isolation: Isolation;
  /** Set while the API is being unbound: no pair is in sync then. */
  readonly unbinding?: UnbindPolicy | undefined;
  /** Status is written through the subresource; without it, with the object. */
  readonly statusSubresource: boolean;
  /** View of the generations that the claims' schema lets their status show. */
  readonly view: StatusView;
  /** One watch on the provider instead of one for each service namespace. */
  readonly clusterWide: boolean;
  readonly orphans: OrphanCollector;
  readonly breaker: DeletionBreaker;
  /** Claims whose upstream objects a restore of the provider lost. */
  readonly creations: CreationHold;
  readonly deletedNamespaces: DeletedNamespaces;
  /** Returns when a person last released deletions of the API, in milliseconds since the epoch; NaN if never. */
  readonly releasedAt: () => number;
  /** The names of Secrets that are taken, by the app cluster's keys. */
  readonly takenSecrets: TakenNames;
  /** Traces of the claims that Secrets belong to. */
  readonly secretCauses: SecretCauses;
  /** Returns the name of the API while the provider does not offer it any more. */
  readonly withdrawn: () => string | undefined;
  /** Claims that the provider refused for its limit. */
  readonly limit: LimitHold;
}

/** The caches of both clusters, as reads and writes of single objects use them. */
export interface BoundCaches {
  readonly claims: Pick<ReadYourWritesCache<BoundDigest>, "get" | "wrote">;
  readonly providerInformer: Pick<MultiNamespaceInformer<BoundDigest>, "get" | "isSynced" | "wrote">;
}

/** Returns the resource on the provider: claims without a namespace become objects of the tenant's namespace under isolation Namespaced. */
export function providerTypeOf(type: ResourceType, isolation: Isolation): ResourceType {
  return !type.namespaced && isolation === "Namespaced" ? { ...type, namespaced: true } : type;
}
