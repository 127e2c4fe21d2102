/** `klutch revoke cluster`: ends all access of one app cluster and keeps its people out, as docs/operating.md says by hand. */
import { binderName, renewalKeyAnnotation } from "@klutch/api";
import { namespaces, serviceAccounts } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { connectControlPlane } from "../service/control-plane.ts";
import { peopleOf, readTenants, requireTenant, tenantText } from "./read.ts";
import { isConfirmed, type RevokeOptions } from "./revoke.ts";

/** Marks the tenant first, so that no login in between makes the account again. It can be run again. */
export async function revokeCluster(
  context: CliContext,
  tenantName: string,
  options: RevokeOptions,
): Promise<void> {
  const { signal, terminal } = context;
  await using cluster = await connectControlPlane(options);
  const tenant = requireTenant(await readTenants(context, cluster), tenantName);
  const people = peopleOf(tenant).map(({ user, subject }) => (user === "" ? subject : user));
  const steps = [
    `end all access of app cluster ${tenantText(tenant)}`,
    `keep out its people (${people.join(", ")}), also with new app clusters`,
    "keep its claims and databases",
  ];
  if (!(await isConfirmed(context, steps, options))) return;
  const patch = { metadata: { annotations: { [renewalKeyAnnotation]: "revoked" } } };
  await cluster.client.mergePatch(namespaces, { name: tenant.name }, patch, { signal });
  await cluster.client.delete(serviceAccounts, { namespace: tenant.name, name: binderName }, { signal });
  terminal.say(
    `App cluster ${tenantText(tenant)} is revoked. A token may work for ten more seconds. To allow it again: kubectl annotate namespace ${tenant.name} ${renewalKeyAnnotation}-`,
  );
}
