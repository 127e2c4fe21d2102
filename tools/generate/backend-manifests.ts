/** Prints what the backend runs with in the control plane cluster. Bundle and chart are made of it, so that one can follow the other. */
import {
  backendPolicyManifests,
  backendPolicyName,
  backendRules,
  binderName,
  binderRules,
  podIdentity,
  restrictedContainer,
  restrictedPod,
} from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";
import { backendClaimRules, legacy, xrdsOf } from "@klutch/services";
import { manifestIn, manifestsIn } from "./manifests.ts";

/** Name of everything of the backend, and of its namespace. */
export const backendName: string = backendPolicyName;

/** Parts of the container that a site adds: its image, and arguments and variables besides the common ones. */
type SiteParts = Readonly<Record<"args" | "env", readonly unknown[]>> & { readonly image: string };

/** Returns the Deployment. */
export function backendDeployment({ image, args, env }: SiteParts): DynamicObject {
  const common = ["--listen-address=:8080", "--probe-port=8081", "--lease-namespace=$(POD_NAMESPACE)"];
  return manifestIn("tools/generate/backend.yaml", {
    RESTRICTED_POD: restrictedPod,
    RESTRICTED_CONTAINER: restrictedContainer,
    IMAGE: image,
    ARGS: [...common, ...args],
    ENV: [...podIdentity, ...env],
  });
}

/** Prints account, rights and the policy behind them, in the order in which they have to be applied; the first one is the namespace. */
export function backendRbac(): readonly KubeObject[] {
  const rights = manifestsIn("tools/generate/backend-rights.yaml", {
    BACKEND_RULES: backendRules,
    BINDER: binderName,
    BINDER_RULES: binderRules,
    SHIPPED_RULES: backendClaimRules(xrdsOf(legacy)),
  });
  // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
  return [...rights, ...backendPolicyManifests];
}
