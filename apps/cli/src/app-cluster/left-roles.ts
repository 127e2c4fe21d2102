/** Finds what Klutch wrote in an app cluster outside of its namespace: cluster roles and admission policies. */
import { apiLimit, claimMarks, konnectorManifests, konnectorName, konnectorPolicyName } from "@klutch/api";
import { clusterRoleBindings, clusterRoles, type ResourceType } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import { apiLimitsState } from "./api-limits.ts";
import { claimMarksState } from "./claim-marks.ts";
import { policyState } from "./confinement.ts";

const baseRoles: ReadonlySet<string> = new Set(
  konnectorManifests({ image: "" })
    .filter(({ kind }) => kind === "ClusterRole" || kind === "ClusterRoleBinding")
    .map(({ metadata }) => metadata.name),
);
/** Names of the konnector's and people's roles for one API begin so. */
const prefixes = ["klutch-bind-konnector:", "klutch-bind:"];

/** Cluster roles and cluster role bindings that Klutch wrote. */
export interface LeftRoles {
  readonly clusterRoles: readonly string[];
  readonly clusterRoleBindings: readonly string[];
  /** Each of them once and the policies, for people; empty if nothing is left. */
  readonly names: readonly string[];
}

/** Finds them. */
export async function findLeftRoles(consumer: Consumer, signal: AbortSignal): Promise<LeftRoles> {
  const [roles, bindings, policy, marks, limits] = await Promise.all([
    namesIn(consumer, clusterRoles, signal),
    namesIn(consumer, clusterRoleBindings, signal),
    policyState(consumer, signal),
    claimMarksState(consumer, new Set(), signal),
    apiLimitsState(consumer, signal),
  ]);
  const hasPolicy = policy === "right" || policy === "different";
  const policies = [
    ...(hasPolicy ? [konnectorPolicyName] : []),
    ...marks.left.map(claimMarks.nameOf),
    ...limits.left.map(apiLimit.nameOf),
  ];
  const names = [...new Set([...roles, ...bindings]), ...policies];
  return { clusterRoles: roles, clusterRoleBindings: bindings, names };
}

async function namesIn(
  { client }: Consumer,
  type: ResourceType,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const all = await Array.fromAsync(client.listAll(type, { metadataOnly: true, signal }));
  return all
    .filter(({ metadata: { name = "", labels } }) => {
      const isOfApi = prefixes.some((prefix) => name.startsWith(prefix));
      return baseRoles.has(name) || (isOfApi && labels?.["app"] === konnectorName);
    })
    .map(({ metadata }) => metadata.name ?? "")
    .toSorted();
}
