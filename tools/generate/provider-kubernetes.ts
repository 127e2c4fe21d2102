/** Manifests of provider-kubernetes, which is not ours: the bundles, and a test of the chart, install it by them. */
import type { KubeObject } from "@klutch/kube-core";
import { defaultObjectConfig } from "@klutch/services";
import { manifestsIn } from "./manifests.ts";

/** Returns what installs it: its package, its flags, and rights on the kinds that the shipped Compositions make. */
export function providerKubernetes(packageReference: string): readonly KubeObject[] {
  return manifestsIn("tools/release/provider-kubernetes.yaml", { PACKAGE: packageReference });
}

/** Returns the ProviderConfigs that the shipped Compositions name. Their kinds come with the package. */
export function providerKubernetesConfigs(): readonly KubeObject[] {
  return manifestsIn("tools/release/provider-kubernetes-configs.yaml", { NAME: defaultObjectConfig });
}
