/** Prints what the backend runs with in the control plane cluster. Bundle and chart are made of it, so that one can follow the other. */
import {
  backendPolicyManifests,
  backendPolicyName,
  backendRules,
  bindAllName,
  bindAllRules,
  binderName,
  binderPolicyManifests,
  binderRules,
  consoleRoleName,
  consoleRules,
  controlPlaneModeRoleName,
  controlPlaneModeRules,
  deployRule,
  podIdentity,
  providerPolicyManifests,
  restrictedContainer,
  restrictedPod,
  shippedOffers,
} from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";
import { backendClaimRules, exportTemplatesOf, generations, legacy, xrdsOf } from "@klutch/services";
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

/** Name of the role with the image that konnectors of control-plane mode may run. */
export const deployableRoleName = "klutch-backend-claims-konnectors";

/**
 * Prints account, rights and the policies behind them, in the order in which they have to be applied; the first one is the namespace. With
 * `konnectorImage` also the rule that lets konnectors of this image run in control-plane mode, which the chart prints from its values.
 */
export function backendRbac(konnectorImage?: string): readonly KubeObject[] {
  const offers = shippedOffers(generations.flatMap(exportTemplatesOf));
  const rights = manifestsIn("tools/generate/backend-rights.yaml", {
    BACKEND_RULES: backendRules,
    BINDER: binderName,
    BINDER_RULES: binderRules,
    BIND_ALL: bindAllName,
    BIND_ALL_RULES: bindAllRules,
    SHIPPED_RULES: [...backendClaimRules(xrdsOf(legacy)), ...offers],
    DEPLOY_RULES: konnectorImage === undefined ? [] : [deployRule(konnectorImage)],
  });
  const isWanted = ({ metadata }: KubeObject): boolean =>
    konnectorImage !== undefined || metadata.name !== deployableRoleName;
  // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
  return [
    ...rights.filter(isWanted),
    ...backendPolicyManifests,
    ...binderPolicyManifests,
    ...providerPolicyManifests,
  ];
}

/** Returns the role and its binding that the backend needs besides `backendRbac` for control-plane mode. */
export function controlPlaneModeRbac(): readonly KubeObject[] {
  const values = { NAME: controlPlaneModeRoleName, RULES: controlPlaneModeRules };
  return manifestsIn("tools/generate/control-plane-mode.yaml", values);
}

/** Returns the role and its binding that the backend needs besides `backendRbac` to show the audit in the console. */
export function consoleRbac(): readonly KubeObject[] {
  return manifestsIn("tools/generate/console-rights.yaml", { NAME: consoleRoleName, RULES: consoleRules });
}
