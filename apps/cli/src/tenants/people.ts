/** The people of a tenant, as the backend keeps them: a founder and members in annotations of the cluster namespace. */
import {
  appClusterBindingAnnotation,
  identityAnnotation,
  issuerAnnotation,
  membersAnnotation,
  removedIssuer,
  splitIdentity,
} from "@klutch/api";
import { isRecord, type KubeObject, textAt } from "@klutch/kube-core";
import { parseJson } from "@klutch/kube";

/** A person by whom a tenant is known. A backend in Go does not write the issuer of a founder. */
export interface TenantPerson {
  readonly issuer: string | undefined;
  readonly subject: string;
  /** RFC 3339; undefined for a founder. */
  readonly since: string | undefined;
}

type Tenant = Pick<KubeObject, "metadata">;

/** Returns true for the cluster namespace of an app cluster that people bound. Those of AppClusterBindings have no people. */
export function isTenant({ metadata: { annotations = {} } }: Tenant): boolean {
  return (
    annotations[identityAnnotation] !== undefined && annotations[appClusterBindingAnnotation] === undefined
  );
}

/** Returns the founder, then the members. A founder who was removed has no subject, and is left out. */
export function peopleIn(tenant: Tenant): readonly TenantPerson[] {
  const { annotations = {} } = tenant.metadata;
  const founder = {
    issuer: annotations[issuerAnnotation],
    subject: splitIdentity(annotations[identityAnnotation] ?? "").subject,
    since: undefined,
  };
  return [founder, ...membersIn(annotations[membersAnnotation])].filter(({ subject }) => subject !== "");
}

/** Reads the list of members. An invalid one counts as empty, as it does in the backend. */
export function membersIn(text = "[]"): readonly TenantPerson[] {
  try {
    const list = parseJson(text, membersAnnotation);
    return (Array.isArray(list) ? list : []).filter(isRecord).map((one) => ({
      issuer: textAt(one, "issuer"),
      subject: textAt(one, "subject") ?? "",
      since: textAt(one, "since"),
    }));
  } catch {
    return [];
  }
}

/** Returns the annotations of the tenant without a person; undefined if the person is none of its people. */
export function withoutPerson(
  tenant: Tenant,
  isMeant: (person: TenantPerson) => boolean,
): Readonly<Record<string, string>> | undefined {
  const { annotations = {} } = tenant.metadata;
  const { subject, clusterId } = splitIdentity(annotations[identityAnnotation] ?? "");
  const members = membersIn(annotations[membersAnnotation]);
  const kept = members.filter((member) => !isMeant(member));
  const isFounder =
    subject !== "" && isMeant({ issuer: annotations[issuerAnnotation], subject, since: undefined });
  if (!isFounder && kept.length === members.length) return undefined;
  return {
    ...(kept.length === members.length ? {} : { [membersAnnotation]: JSON.stringify(kept) }),
    ...(isFounder ? { [identityAnnotation]: `#${clusterId}`, [issuerAnnotation]: removedIssuer } : {}),
  };
}
