/** The backend's account under its admission policy. */
import { backendPolicyManifests, backendPolicyName } from "@klutch/api";
import { secrets } from "@klutch/kube-core";
import { isForbidden, type KubeClient } from "@klutch/kube";
import { applyPolicies, type TestCluster, unlimitedClient, waitFor } from "@klutch/kube-testing";

/**
 * Puts the policy in force; gives back a client of the account with every right but what the policy refuses. The caller disposes of it.
 */
export async function confinedClient(cluster: TestCluster): Promise<KubeClient> {
  await applyPolicies(cluster.client, backendPolicyManifests);
  const confined = unlimitedClient(cluster, { namespace: backendPolicyName, name: backendPolicyName });
  const probe = { apiVersion: "v1", kind: "Secret", metadata: { namespace: "default", name: "probe" } };
  await waitFor("the policy to be in force", () =>
    confined.create(secrets, probe, { dryRun: true }).then(() => false, isForbidden),
  );
  return confined;
}
