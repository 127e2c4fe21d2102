/** What the parts of the sandbox share while it runs. */
import type { TestCluster } from "@klutch/kube-testing";
import type { Progress } from "./progress.ts";
import type { SandboxState } from "./state.ts";

/** The three clusters. */
export interface Clusters {
  readonly controlPlane: TestCluster;
  readonly appA: TestCluster;
  readonly appB: TestCluster;
}

/** See the module comment. Everything that must end with the sandbox is in `stack`. */
export interface World {
  readonly state: SandboxState;
  readonly clusters: Clusters;
  readonly progress: Progress;
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

/** Namespace of Crossplane. */
export const crossplaneNamespace = "crossplane-system";
