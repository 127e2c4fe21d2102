/**
 * Prints the backend's rights on claims and composites: it reads why Crossplane cannot compose a claim, and writes that into the claim's status.
 * The role aggregates others by a label, so that rights on a platform's own kinds can stand beside the kinds themselves.
 */
import { aggregateToBackendLabel, type Manifest } from "@klutch/api";
import { textAt } from "@klutch/kube-core";
import { legacy, xrdsOf } from "@klutch/services";

const group = "rbac.authorization.k8s.io";
const read = ["get", "list", "watch"];

/** Prints them for an account and the beginning of the roles' names. */
export function claimRights(name: string, subject: object): readonly Manifest[] {
  const own = `${name}-claims`;
  return [
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRole",
      metadata: { name: own },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregateToBackendLabel]: "true" } }] },
      rules: [],
    },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRole",
      metadata: { name: `${own}-shipped`, labels: { [aggregateToBackendLabel]: "true" } },
      rules: shippedRules(),
    },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: own },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: own },
      subjects: [subject],
    },
  ];
}

/** Composites of the newer generation are their own claims and say everything themselves. */
function shippedRules(): readonly object[] {
  const specs = xrdsOf(legacy).map(({ spec }) => spec);
  const apiGroups = [...new Set(specs.flatMap((spec) => textAt(spec, "group") ?? []))];
  const claims = specs.flatMap((spec) => textAt(spec, "claimNames", "plural") ?? []);
  const composites = specs.flatMap((spec) => textAt(spec, "names", "plural") ?? []);
  return [
    { apiGroups, resources: [...claims, ...composites].toSorted(), verbs: read },
    { apiGroups, resources: claims.map((plural) => `${plural}/status`).toSorted(), verbs: ["patch"] },
  ];
}
