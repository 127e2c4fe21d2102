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

/** What is there before any cluster. Everything that must end with the sandbox is in `stack`. */
export interface Foundation {
  readonly state: SandboxState;
  readonly progress: Progress;
  readonly stack: AsyncDisposableStack;
}

/** What Crossplane needs. */
export interface ControlPlane extends Foundation {
  readonly clusters: Pick<Clusters, "controlPlane">;
}

/** Given to each part when it starts; `signal` aborts when the sandbox ends. */
export interface World extends Foundation {
  readonly clusters: Clusters;
  readonly signal: AbortSignal;
}

/** Namespace of Crossplane. */
export const crossplaneNamespace = "crossplane-system";
