/** The backend's account under its admission policy. */
import { backendPolicyManifests, backendPolicyName } from "@klutch/api";
import { secrets, validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from "@klutch/kube-core";
import { createKubeClient, isForbidden, type KubeClient } from "@klutch/kube";
import { type TestCluster, waitFor } from "@klutch/kube-testing";

/**
 * Puts the policy in force; gives back a client of the account with every right but what the policy refuses. The caller disposes of it.
 */
export async function confinedClient({ client, config }: TestCluster): Promise<KubeClient> {
  for (const manifest of backendPolicyManifests) {
    const isPolicy = manifest.kind === "ValidatingAdmissionPolicy";
    await client.create(isPolicy ? validatingAdmissionPolicies : validatingAdmissionPolicyBindings, manifest);
  }
  const user = `system:serviceaccount:${backendPolicyName}:${backendPolicyName}`;
  const impersonate = { user, groups: ["system:masters"] };
  const confined = createKubeClient({ ...config, impersonate }, { flowControl: false });
  const probe = { apiVersion: "v1", kind: "Secret", metadata: { namespace: "default", name: "probe" } };
  await waitFor("the policy to be in force", () =>
    confined.create(secrets, probe, { dryRun: true }).then(() => false, isForbidden),
  );
  return confined;
}
