/** Whose a cluster namespace is: the person it was made for, and the people who joined. Read and written as annotations. */
import {
  ciClientAnnotation,
  clusterKeyAnnotation,
  identityAnnotation,
  isPublicKey,
  issuerAnnotation,
  membersAnnotation,
  removedIssuer,
  splitIdentity,
} from "@klutch/api";
import { isRecord, type KubeObject } from "@klutch/kube-core";
import type { Identity } from "../identity.ts";

/** Names of the cache's indexes. */
export const byIdentity = "identity";
export const byClusterKey = "clusterKey";
export const bySubject = "subject";
/** More people than this do not join one tenant. */
export const mostMembers = 100;

/** A person who joined. */
export interface Member extends Identity {
  /** RFC 3339. */
  readonly since: string;
}

type Tenant = Pick<KubeObject, "metadata">;

/** Reads the members from the annotation. An invalid list counts as empty. */
export function membersOf({ metadata }: Tenant): readonly Member[] {
  try {
    const value: unknown = JSON.parse(metadata.annotations?.[membersAnnotation] ?? "[]");
    return Array.isArray(value) ? value.flatMap(memberOf) : [];
  } catch {
    return [];
  }
}

function memberOf(value: unknown): Member[] {
  if (!isRecord(value)) return [];
  const { issuer, subject, since } = value;
  return typeof issuer === "string" && typeof subject === "string"
    ? [{ issuer, subject, since: typeof since === "string" ? since : "" }]
    : [];
}

/**
 * Returns true if the namespace was made for this user; the existing backend does not record the issuer. What a program founded is that
 * program's only, whatever subjects people have.
 */
export function isFounder({ metadata }: Tenant, identity: string, { issuer, client }: Identity): boolean {
  const { annotations = {} } = metadata;
  return (
    annotations[identityAnnotation] === identity &&
    [undefined, issuer].includes(annotations[issuerAnnotation]) &&
    annotations[ciClientAnnotation] === client
  );
}

/** Returns true if this user joined it. Programs join nothing. */
export function isMember(tenant: Tenant, { issuer, subject, client }: Identity): boolean {
  if (client !== undefined) return false;
  return membersOf(tenant).some((member) => member.issuer === issuer && member.subject === subject);
}

/** A person of a tenant; the existing backend records no issuer of a founder. */
export interface PersonOfTenant {
  readonly issuer: string | undefined;
  readonly subject: string;
}

/** Returns the founder, then those who joined. A founder who was removed has no subject, and is left out. */
export function peopleIn(tenant: Tenant): readonly PersonOfTenant[] {
  const { annotations = {} } = tenant.metadata;
  const { subject } = splitIdentity(annotations[identityAnnotation] ?? "");
  const founder = { issuer: annotations[issuerAnnotation], subject };
  return [...(subject === "" ? [] : [founder]), ...membersOf(tenant)];
}

/** Returns the annotations that change when the person is removed. */
export function withoutPerson(
  tenant: Tenant,
  { issuer, subject }: PersonOfTenant,
): Readonly<Record<string, string>> {
  const { annotations = {} } = tenant.metadata;
  const founder = splitIdentity(annotations[identityAnnotation] ?? "");
  const members = membersOf(tenant);
  const kept = members.filter((one) => one.issuer !== issuer || one.subject !== subject);
  const isFounding = founder.subject === subject && annotations[issuerAnnotation] === issuer;
  return {
    ...(kept.length === members.length ? {} : { [membersAnnotation]: JSON.stringify(kept) }),
    ...(isFounding
      ? { [identityAnnotation]: `#${founder.clusterId}`, [issuerAnnotation]: removedIssuer }
      : {}),
  };
}

/** `<subject>#<cluster id>` of everybody who may use the namespace from its app cluster: the values of the index `byIdentity`. */
export function identitiesOf(tenant: Tenant): readonly string[] {
  const identity = tenant.metadata.annotations?.[identityAnnotation];
  if (identity === undefined) return [];
  const { clusterId } = splitIdentity(identity);
  return [...new Set([identity, ...membersOf(tenant).map(({ subject }) => `${subject}#${clusterId}`)])];
}

/** Subjects of all who may use the namespace, whatever their issuers: the values of the index `bySubject`. */
export function subjectsOf(tenant: Tenant): readonly string[] {
  const subjects = identitiesOf(tenant).map((identity) => splitIdentity(identity).subject);
  return [...new Set(subjects)].filter((subject) => subject !== "");
}

/** The proven key: the value of the index `byClusterKey`. */
export function clusterKeysOf({ metadata }: Tenant): readonly string[] {
  const key = metadata.annotations?.[clusterKeyAnnotation];
  return isPublicKey(key) ? [key] : [];
}
