/** Values that all parts of one provider's work share. */
import type { EventRecorder } from "@klutch/kube-runtime";
import type { ConsumerCluster, ProviderCluster, RuntimeDependencies } from "../../clusters.ts";
import type { NamespaceMappings } from "./namespace-mappings.ts";

/** Names both clusters, and the values shared between them. */
export interface ProviderParts {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  /** Throws when the provider is not the one that the bindings were made with. */
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  readonly namespaces: NamespaceMappings;
  /** Says why the provider cannot be used at present, in words that do not change by themselves; undefined while it can be. */
  readonly away: () => string | undefined;
  readonly events: EventRecorder;
  readonly runtime: RuntimeDependencies;
}
