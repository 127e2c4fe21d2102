/**
 * Keeps people out of a tenant that an operator revoked, until the operator allows it again. The annotation of the cluster namespace that
 * shuts out the konnector's key decides. It also keeps the tenant's people from founding or joining another tenant: a cluster id is chosen by
 * the person who logs in, so that a new one would otherwise undo the revocation.
 */
import { identityAnnotation, isPublicKey, renewalKeyAnnotation, splitIdentity } from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { UserError } from "../errors.ts";
import type { Identity } from "../identity.ts";
import { isFounder, isMember } from "./members.ts";

type Tenant = Pick<KubeObject, "metadata">;

/** Returns true if an operator revoked the tenant: the annotation has a value that is no key. One that is being deleted counts no more. */
export function isRevoked({ metadata }: Tenant): boolean {
  const value = metadata.annotations?.[renewalKeyAnnotation] ?? "";
  return metadata.deletionTimestamp === undefined && value !== "" && !isPublicKey(value);
}

/** Returns true if the person founded or joined the tenant, from whichever app cluster. */
export function isPersonOf(tenant: Tenant, person: Identity): boolean {
  const { clusterId } = splitIdentity(tenant.metadata.annotations?.[identityAnnotation] ?? "");
  return isFounder(tenant, `${person.subject}#${clusterId}`, person) || isMember(tenant, person);
}

/** Throws `UserError` 403 if the tenant is revoked. `operator` is what the provider calls itself. */
export function refuseRevokedTenant(tenant: Tenant, operator: string): void {
  if (!isRevoked(tenant)) return;
  const name = tenant.metadata.name ?? "";
  throw new UserError(
    403,
    `The platform operator revoked the access of this app cluster (tenant ${name}).`,
    askOperator(operator, name),
    { outcome: "TenantRevoked" },
  );
}

/** Throws `UserError` 403 if the person belongs to a revoked tenant, before they get another one. */
export function refuseRevokedPerson(tenants: Iterable<Tenant>, person: Identity, operator: string): void {
  for (const tenant of tenants) {
    if (!isRevoked(tenant) || !isPersonOf(tenant, person)) continue;
    const name = tenant.metadata.name ?? "";
    throw new UserError(
      403,
      `The platform operator revoked the access of an app cluster of yours (tenant ${name}), so you cannot bind another one.`,
      askOperator(operator, name),
      { outcome: "PersonRevoked" },
    );
  }
}

function askOperator(operator: string, tenant: string): string {
  return `Ask the operator of ${operator} to allow tenant ${tenant} again. Then start again with kubectl bind.`;
}
