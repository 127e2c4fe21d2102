/** The rights of one app cluster's account on the kinds that it may use. They follow exports, templates and answers in both directions. */
import {
  type APIServiceExport,
  binderClusterRoleName,
  binderClusterWideName,
  binderName,
  clusterWideExportRules,
  exportRules,
  type GrantedExport,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  type KubeObject,
  namespaces,
  ownerReference,
  type PolicyRule,
  type Role,
} from "@klutch/kube-core";
import { isForbidden, type KubeClient } from "@klutch/kube";
import { keep, keepAway, type RepeatOptions } from "../apply.ts";
import { isRevokedExport } from "../authorization/revoked-exports.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import { offeredRules, readOffers } from "../offers.ts";

const group = "rbac.authorization.k8s.io";

/**
 * One ClusterRole with everything, which is bound in service namespaces only. With consumer scope Cluster a second one, bound in the whole
 * cluster, without any kind of Kubernetes itself: an account that may list all Secrets is an administrator. Returns `partly` while
 * operators do not offer a kind that is bound. A revoked export gives nothing.
 */
export async function ensureRights(
  context: ControllerContext,
  namespace: string,
  options: RepeatOptions,
): Promise<"whole" | "partly"> {
  const { client, caches, consumerScope } = context;
  const name = binderClusterRoleName(namespace);
  const wideName = binderClusterWideName(namespace);
  const granted = caches.exports
    .byIndex(byNamespace, namespace)
    .filter((object) => !isRevokedExport(object))
    .map((object) => grantedOf(context, object));
  const uid = caches.namespaces.get(namespace)?.metadata.uid;
  const owner =
    uid === undefined ? {} : { ownerReferences: [ownerReference(namespaces, { name: namespace, uid })] };
  const inside = await ensureRole(client, { name, ...owner }, exportRules(granted), options);
  if (consumerScope === "Namespaced") {
    for (const one of [name, wideName]) await keepAway(client, clusterRoleBindings, one, options);
    await keepAway(client, clusterRoles, wideName, options);
    return inside;
  }
  const wide = await ensureRole(
    client,
    { name: wideName, ...owner },
    clusterWideExportRules(granted),
    options,
  );
  const roleBinding = {
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: wideName, ...owner },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: wideName },
    subjects: [{ kind: "ServiceAccount", name: binderName, namespace }],
  };
  await keep(client, clusterRoleBindings, roleBinding, options);
  // Made by existing backends, and by ours before: it gave every claim in the whole cluster.
  await keepAway(client, clusterRoleBindings, name, options);
  return inside === "whole" ? wide : inside;
}

function grantedOf(
  { exportTemplates }: ControllerContext,
  { spec, metadata }: APIServiceExport,
): GrantedExport {
  const withdrawn = exportTemplates.template(spec.group, spec.names.plural) === undefined;
  // Also before the export itself has followed: rights must not outlive their reason.
  return { spec: withdrawn ? { ...spec, permissionClaims: [] } : spec, metadata, withdrawn };
}

async function ensureRole(
  client: KubeClient,
  metadata: KubeObject["metadata"],
  rules: readonly PolicyRule[],
  options: RepeatOptions,
): Promise<"whole" | "partly"> {
  const write = (granted: readonly PolicyRule[]): Promise<void> => {
    const role: Role = { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata, rules: granted };
    return keep(client, clusterRoles, role, options);
  };
  try {
    await write(rules);
    return "whole";
  } catch (error) {
    if (!isForbidden(error)) throw error;
    // One kind that operators do not offer must not cost the tenant the others. Its template names the missing rule.
    const isOffered = await readOffers(client, options);
    const granted = isOffered === undefined ? rules : offeredRules(rules, isOffered);
    if (granted.length === rules.length) throw error;
    await write(granted);
    return "partly";
  }
}
