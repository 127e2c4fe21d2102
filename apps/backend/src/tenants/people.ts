/** People of a tenant, as its status lists them. The annotations of the cluster namespace decide who they are (designs/0024). */
import {
  appClusterBindingAnnotation,
  boundByAnnotation,
  type ClusterBinding,
  clusterNameAnnotation,
  displayName,
  type Grant,
  identityAnnotation,
  issuerAnnotation,
  mostMembersShown,
  splitIdentity,
  type TenantMember,
  type TenantSpec,
} from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { membersOf } from "../provisioning/members.ts";

/** Returns the person the namespace was made for, then those who joined, each with their last bind by the Grants of the namespace. */
export function peopleOf(
  namespace: KubeObject,
  grants: readonly Grant[],
): { readonly members: readonly TenantMember[]; readonly memberCount: number } {
  const joined = membersOf(namespace);
  const everyone = [...founderOf(namespace), ...joined];
  const members = everyone.slice(0, mostMembersShown).map((member) => {
    const last = lastGrantOf(member, grants);
    const name = displayName(last?.spec.identity.displayName);
    return {
      ...member,
      ...(name === undefined ? {} : { displayName: name }),
      ...(last === undefined ? {} : { lastBoundAt: last.spec.boundAt }),
    };
  });
  return { members, memberCount: everyone.length };
}

function founderOf({ metadata }: KubeObject): readonly TenantMember[] {
  const { annotations = {}, creationTimestamp = "" } = metadata;
  const identity = annotations[identityAnnotation];
  if (identity === undefined) return [];
  const issuer = annotations[issuerAnnotation];
  const { subject } = splitIdentity(identity);
  return [{ ...(issuer === undefined ? {} : { issuer }), subject, since: creationTimestamp }];
}

/** The existing backend records no issuer: then the subject decides. */
function lastGrantOf({ issuer, subject }: TenantMember, grants: readonly Grant[]): Grant | undefined {
  return grants
    .filter(({ spec: { identity } }) => identity.subject === subject)
    .filter(({ spec: { identity } }) => issuer === undefined || identity.issuer === issuer)
    .toSorted((left, right) => Date.parse(right.spec.boundAt) - Date.parse(left.spec.boundAt))[0];
}

/** Returns the spec of a Tenant that is made: the names of the app cluster and of the person who bound it first, as far as they are known. */
export function firstSpecOf(namespace: KubeObject, binding: ClusterBinding): TenantSpec {
  const { annotations = {} } = namespace.metadata;
  const identity = annotations[identityAnnotation];
  const { subject, clusterId } = splitIdentity(identity ?? "");
  const names = binding.metadata.annotations ?? {};
  const name =
    displayName(names[clusterNameAnnotation]) ??
    displayName(clusterId) ??
    displayName(annotations[appClusterBindingAnnotation]);
  const owner = displayName(names[boundByAnnotation]) ?? displayName(subject);
  return {
    displayName: name ?? namespace.metadata.name ?? "",
    ...(owner === undefined ? {} : { owner }),
  };
}
