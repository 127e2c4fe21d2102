/** What the parts of the sandbox share while it runs. */
import type { TestCluster } from "@klutch/kube-testing";
import type { Generation } from "@klutch/services";
import type { Progress } from "./progress.ts";
import type { SandboxState } from "./state.ts";

/** The three clusters. */
export interface Clusters {
  readonly controlPlane: TestCluster;
  readonly appA: TestCluster;
  readonly appB: TestCluster;
}

/** What is there before any cluster. Everything that must end with the sandbox is in `stack`. */
export interface SandboxBase {
  readonly state: SandboxState;
  readonly progress: Progress;
  /** Of claims that are offered. */
  readonly generations: readonly Generation[];
  readonly stack: AsyncDisposableStack;
}

/** What Crossplane needs. */
export interface ControlPlane extends SandboxBase {
  readonly clusters: Pick<Clusters, "controlPlane">;
}

/** The running sandbox; its servers end with `stack`, its loops with `signal`. */
export interface SandboxContext extends SandboxBase {
  readonly clusters: Clusters;
  readonly signal: AbortSignal;
}

/** Namespace of Crossplane. */
export const crossplaneNamespace = "crossplane-system";
