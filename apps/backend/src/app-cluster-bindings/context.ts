/** Context of control-plane mode, besides the caches of every backend. */
import type { APIServiceBinding, AppClusterBinding } from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import type { ControllerContext } from "../controller-context.ts";

/** Caches that only the control-plane mode has. */
export interface ControlPlaneCaches {
  readonly appClusterBindings: Informer<AppClusterBinding>;
  /** Cache of the bindings that an AppClusterBinding made. */
  readonly serviceBindings: Informer<APIServiceBinding>;
  /** Cache of the konnectors' Deployments. */
  readonly deployments: Informer<KubeObject>;
}

/** Image of the konnectors, and what overrides may name instead of it. */
export interface KonnectorImages {
  readonly image: string;
  readonly allowedPrefixes: readonly string[];
}

/** Shared by the parts of the AppClusterBinding controller. */
export interface ControlPlaneContext extends ControllerContext {
  readonly controlPlane: ControlPlaneCaches;
  readonly konnectorImages: KonnectorImages;
}

/** Options of everything that talks to the cluster. */
export interface Step {
  readonly signal: AbortSignal;
}
