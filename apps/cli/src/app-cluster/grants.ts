/** Reads the roles that the app cluster gives the konnector's account. */
import {
  clusterRoleBindings,
  clusterRoles,
  keyOfRef,
  type Role,
  type RoleBinding,
  roleBindings,
  roles,
} from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import { bindsKonnector, type Grant } from "./rights.ts";

/** Roles as they are in the cluster. */
export interface FoundRoles {
  /** Roles that something binds to the konnector's account. */
  readonly grants: readonly Grant[];
  /** Names of all ClusterRoles and ClusterRoleBindings. */
  readonly clusterRoleNames: ReadonlySet<string>;
  /** All ClusterRoles, and the konnector's Roles, by `ClusterRole x` and `Role ns/x`. */
  readonly allRoles: ReadonlyMap<string, Role>;
}

/** Reads them. */
export async function readGrants({ client }: Consumer, signal: AbortSignal): Promise<FoundRoles> {
  const [clusterWide, namespaced, clusterRoleList] = await Promise.all([
    Array.fromAsync(client.listAll<RoleBinding>(clusterRoleBindings, { signal })),
    Array.fromAsync(client.listAll<RoleBinding>(roleBindings, { signal })),
    Array.fromAsync(client.listAll<Role>(clusterRoles, { signal })),
  ]);
  const allRoles = new Map(clusterRoleList.map((role) => [`ClusterRole ${role.metadata.name}`, role]));
  const grants: Grant[] = [];
  for (const { kind, metadata, roleRef, subjects } of [...clusterWide, ...namespaced]) {
    if (!bindsKonnector(subjects ?? [])) continue;
    const { namespace, name = "" } = metadata;
    const isNamespaced = roleRef.kind === "Role";
    const role = isNamespaced ? `Role ${namespace}/${roleRef.name}` : `ClusterRole ${roleRef.name}`;
    if (isNamespaced) {
      const found = await client.find<Role>(roles, { namespace, name: roleRef.name }, { signal });
      if (found !== undefined) allRoles.set(role, found);
    }
    grants.push({
      role,
      binding: `${kind} ${keyOfRef({ namespace, name })}`,
      namespace,
      rules: allRoles.get(role)?.rules ?? [],
    });
  }
  const names = [...clusterRoleList, ...clusterWide].map(({ metadata }) => metadata.name ?? "");
  return { grants, clusterRoleNames: new Set(names), allRoles };
}
