/** Installing manifests where the Deployments' parts are played by processes. */
import type { KubeClient } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  type KubeObject,
  namespaces,
  roleBindings,
  roles,
  serviceAccounts,
} from "@klutch/kube-core";

const installable = [namespaces, serviceAccounts, clusterRoles, clusterRoleBindings, roles, roleBindings];

/** Applies namespaces, accounts and what decides about rights; everything else is left out. */
export async function installRights(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  for (const manifest of manifests) {
    const type = installable.find(({ kind }) => kind === manifest.kind);
    if (type !== undefined) await client.apply(type, manifest, { fieldManager: "installer", force: true });
  }
}
