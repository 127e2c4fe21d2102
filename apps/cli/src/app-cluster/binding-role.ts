/** The roles for one bound API: the konnector's and those of people. */
import { bindingRoleName, userRoleManifests } from "@klutch/api";
import { clusterRoleBindings, clusterRoles } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { findBinding } from "./bound-resource.ts";
import { refreshConfinement } from "./confinement.ts";

/** Deletes the roles for an API that is not bound. Returns whether the konnector had one. */
export async function removeRole(context: CliContext, consumer: Consumer, name: string): Promise<boolean> {
  const { signal, terminal } = context;
  // Someone may have bound the API again in the meantime.
  if ((await findBinding(consumer, name, signal)).binding !== undefined) return false;
  const role = { name: bindingRoleName(name) };
  const hadBinding = await consumer.client.delete(clusterRoleBindings, role, { signal });
  const hadRole = await consumer.client.delete(clusterRoles, role, { signal });
  for (const { metadata } of userRoleManifests(name))
    await consumer.client.delete(clusterRoles, { name: metadata.name }, { signal });
  if (hadBinding || hadRole) {
    await refreshConfinement(context, consumer);
    terminal.say(
      `Deleted ClusterRole and ClusterRoleBinding ${role.name}: the konnector has no rights on ${name} any more.`,
    );
  }
  return hadBinding || hadRole;
}
