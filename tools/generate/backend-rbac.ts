/** What the backend runs with in the control plane cluster: account, rights and the policy behind them. */
import {
  backendPolicyManifests,
  backendPolicyName,
  backendRules,
  binderName,
  binderRules,
  type Manifest,
} from "@klutch/api";

/** In the order in which they have to be applied; the first one is the namespace. */
export function backendRbac(): readonly Manifest[] {
  const account = { name: backendPolicyName, namespace: backendPolicyName };
  const metadata = { name: account.name };
  const group = "rbac.authorization.k8s.io";
  const subject = { kind: "ServiceAccount", ...account };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata, rules: backendRules },
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: binderName }, rules: binderRules },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "ClusterRole", name: account.name },
      subjects: [subject],
    },
    // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
    ...backendPolicyManifests,
  ];
}
