/** `klutch revoke api`: takes an API back from one app cluster. */
import { type APIServiceExport, apiServiceExports } from "@klutch/api";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { nearestNames } from "../nearest.ts";
import { connectControlPlane } from "../service/control-plane.ts";
import { apiOf, hintOf, listed, readTenants, requireTenant, tenantText } from "./read.ts";
import { endGrants, isConfirmed, type RevokeOptions, untouched } from "./revoke.ts";

/** Deletes each Grant for the API. The backend takes the rights away; claims and databases stay. */
export async function revokeApi(
  context: CliContext,
  api: string,
  tenantName: string,
  options: RevokeOptions,
): Promise<void> {
  await using cluster = await connectControlPlane(options);
  const tenant = requireTenant(await readTenants(context, cluster), tenantName);
  const doomed = tenant.grants.filter((grant) => apiOf(grant) === api);
  if (doomed.length === 0) {
    const exports = await listed<APIServiceExport>(context, cluster, apiServiceExports, tenant.name);
    const exported = exports.map(({ metadata }) => metadata.name ?? "");
    throw notGranted(api, tenantText(tenant), tenant.grants.map(apiOf), exported);
  }
  const people = doomed.map(({ spec }) => spec.identity.user).join(", ");
  const steps = [
    `take ${api} away from app cluster ${tenantText(tenant)}, which ${people} bound`,
    "keep its claims and databases, which are not synced until somebody binds the API again",
  ];
  if (!(await isConfirmed(context, steps, options))) return;
  await endGrants(context, cluster, doomed, options);
  context.terminal.say(`App cluster ${tenantText(tenant)} has no access to ${api} any more.`);
}

function notGranted(
  api: string,
  tenant: string,
  granted: readonly string[],
  exported: readonly string[],
): CliError {
  if (exported.includes(api))
    return new CliError(
      "Conflict",
      `App cluster ${tenant} has ${api} without a Grant: it was bound by an earlier release, or is revoked already. To end all of its access: klutch revoke cluster. ${untouched}`,
    );
  const has =
    granted.length === 0
      ? "It has bound none"
      : `It has bound ${[...new Set(granted)].toSorted().join(", ")}`;
  return new CliError(
    "Usage",
    `App cluster ${tenant} has not bound ${JSON.stringify(api)}. ${hintOf(nearestNames(api, granted), has)} ${untouched}`,
  );
}
