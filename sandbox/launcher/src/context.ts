/** Defines the context that the parts of the sandbox share while it runs. */
import type { OwnCluster } from "@klutch/kube-testing";
import type { Generation } from "@klutch/services";
import type { AdminCluster } from "./accounts.ts";
import type { Progress } from "./progress.ts";
import type { SandboxState } from "./state.ts";

/** Names of the clusters. */
export type ClusterName = "controlPlane" | "appA" | "appB";

/** Context before any cluster exists. Everything that must end with the sandbox is in `stack`. */
export interface SandboxBase {
  readonly state: SandboxState;
  readonly progress: Progress;
  /** Generations of claims to offer. */
  readonly generations: readonly Generation[];
  readonly stack: AsyncDisposableStack;
}

/** The running sandbox; its servers end with `stack`, its loops with `signal`. */
export interface SandboxContext extends SandboxBase {
  readonly clusters: Readonly<Record<ClusterName, OwnCluster>>;
  readonly signal: AbortSignal;
}

/** A sandbox as its demo knows it, wherever its parts run. */
export interface DemoContext {
  readonly state: { readonly folder: string };
  readonly progress: Progress;
  readonly clusters: Readonly<Record<"controlPlane" | "appA", AdminCluster>>;
}

/** Namespace of Crossplane. */
export const crossplaneNamespace = "crossplane-system";
