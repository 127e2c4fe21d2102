/** The two clusters as the agent holds them. Their types differ, so that a write to the wrong one does not compile. */
import type { Clock, KubeClient, Random } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";
import type { Tenant } from "@klutch/sync";
import type { Logger, Tracer } from "@klutch/telemetry";
import type { ClusterCaches } from "./digests.ts";
import type { KonnectorMetrics } from "./counters.ts";

/** The app cluster. */
export interface ConsumerCluster {
  readonly side: "consumer";
  readonly client: KubeClient;
  readonly pool: ClusterCaches;
  /** UID of kube-system: the identity of the cluster. */
  readonly uid: string;
}

/** The cluster that holds the APIServiceBindings: the app cluster, or in control-plane mode the control plane. */
export interface BindingCluster {
  readonly side: "binding";
  readonly client: KubeClient;
  readonly pool: ClusterCaches;
  /** Only this namespace; all when absent. */
  readonly namespace?: string | undefined;
  /** An APIServiceBinding CRD of version 1.5 or older is cluster-scoped. */
  readonly bindingType: ResourceType;
}

/** One control plane, as one tenant sees it. */
export interface ProviderCluster {
  readonly side: "provider";
  readonly client: KubeClient;
  readonly pool: ClusterCaches;
  readonly tenant: Tenant;
}

/** Times in milliseconds, and limits. */
export interface Timing {
  /** Between two live reads before something is deleted on the provider whose claim no one was seen to delete. Default 10 000. */
  readonly graceMs: number;
  /** Unannounced upstream deletions within a minute and provider; more are held. Default 25. */
  readonly breakerLimit: number;
  /** Deleted claims of one API within a minute from which on upstream deletions are held, when they are at least half of all, and claims of all APIs in a namespace that is being deleted. 0: never. Default 5. */
  readonly massDeletionLimit: number;
  /** A deletion waits this long for others, where they could be held together. Default 2 000. */
  readonly deletionSettleMs: number;
  /**
   * Objects that the provider may bring into one namespace: copies of one claimed resource; and where as many bound objects lie,
   * nothing is adopted. 0: any number. Default 1000.
   */
  readonly providerObjectsLimit: number;
  /** A provider that cannot be reached for longer is reported on bindings and claims. Default 10 000. */
  readonly unreachableAfterMs: number;
  /** A heartbeat is due after this. Default 40 000: the interval that is promised to the backend leaves time for one that is tried again. */
  readonly heartbeatMs: number;
  /** After this without filled caches the bindings say so. Default 30 000. */
  readonly syncTimeoutMs: number;
  /** A probe goes up this often (designs/0031); 0: never. Default 0, which the program's flag changes. */
  readonly canaryMs: number;
  /** An answer to a probe that takes longer counts as failed. Default 10 000. */
  readonly canaryLateMs: number;
  /** A claim's wait is recorded as an event when it lasts longer. Default 5 000. */
  readonly recordAfterMs: number;
  /** A claim without an answer for this long says so in its status. Default 1 second. */
  readonly overdueAfterMs: number;
  /** A schema that waits for claims to fit is held against them again after this. Default 60 000. */
  readonly heldSchemaMs: number;
  /** The cluster may mark new claims at admission once their schema has been served this long: API servers poll schemas every five seconds. Default 60 000. */
  readonly schemaSettlesMs: number;
  /** A claim that waits for room under the provider's limit is sent again after this at the latest, one at a time. Default 30 000. */
  readonly limitRetryMs: number;
  /** A name that an object of the app cluster's own takes is looked at again after this. Default 15 000. */
  readonly takenRetryMs: number;
  /** An API that the control plane refused to bind by this konnector's token is asked for again after this. Default 30 000. */
  readonly ownBindRetryMs: number;
}

/** The defaults. */
export const defaultTiming: Timing = {
  graceMs: 10_000,
  breakerLimit: 25,
  massDeletionLimit: 5,
  deletionSettleMs: 2_000,
  providerObjectsLimit: 1_000,
  unreachableAfterMs: 10_000,
  heartbeatMs: 40_000,
  syncTimeoutMs: 30_000,
  canaryMs: 0,
  canaryLateMs: 10_000,
  recordAfterMs: 5_000,
  overdueAfterMs: 1_000,
  heldSchemaMs: 60_000,
  schemaSettlesMs: 60_000,
  limitRetryMs: 30_000,
  takenRetryMs: 15_000,
  ownBindRetryMs: 30_000,
};

/** Dependencies of every part of the agent. */
export interface RuntimeDependencies {
  readonly logger: Logger;
  readonly metrics: KonnectorMetrics;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: no traces. */
  readonly tracer?: Tracer | undefined;
  readonly timing: Timing;
  /** Pairs are read as a whole each time, for comparison with the fast way. Default false. */
  readonly naiveStore?: boolean | undefined;
}
