/** The place of one app cluster in the control plane: namespace, account, rights, ClusterBinding. Every step can be repeated. */
import { createHash } from "node:crypto";
import {
  binderName,
  ciClientAnnotation,
  type ClusterBinding,
  clusterBindingName,
  clusterBindings,
  clusterKeyAnnotation,
  identityAnnotation,
  issuerAnnotation,
  kubeconfigKey,
  membersAnnotation,
  type TenantRelation,
} from "@klutch/api";
import { type KubeObject, namespaces, roleBindings, serviceAccounts } from "@klutch/kube-core";
import { type Clock, isAlreadyExists, isConflict, type KubeClient } from "@klutch/kube";
import type { Informer } from "@klutch/kube-runtime";
import { ensure, keep, type RepeatOptions } from "../apply.ts";
import { type Asker, type Audit, silentAudit } from "../audit/audit.ts";
import { UserError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { podSecurity } from "../pod-security.ts";
import type { Person } from "../identity.ts";
import {
  byClusterKey,
  byIdentity,
  clusterKeysOf,
  isFounder,
  isMember,
  membersOf,
  mostMembers,
} from "./members.ts";
import { refuseRevokedPerson, refuseRevokedTenant } from "./revocation.ts";
import { refuseTooMany } from "./tenant-limit.ts";
import { rememberNames } from "./tenant-names.ts";
import { withProof } from "./used-proofs.ts";

/** User and the app cluster to bind. */
export interface TenantIdentity extends Person {
  readonly clusterId: string;
  /** Public key of the app cluster that the plugin proved to hold. */
  readonly clusterKey?: string | undefined;
  /** The proof of that key. */
  readonly proof?: Proof | undefined;
  /** Name that the plugin gave the app cluster, for people. */
  readonly clusterName?: string | undefined;
  /** Way and address of the request; for records only. */
  readonly way?: Asker["way"];
  readonly address?: Asker["address"];
}

/** A proof counts once. */
export interface Proof {
  readonly id: string;
  /** True if it covers the person, too. Others only let a person found or join a tenant, and are not looked at again. */
  readonly confirms: boolean;
}

/** `<subject>#<cluster id>`, as the existing backend writes it. */
export function identityOf(identity: TenantIdentity): string {
  return `${identity.subject}#${identity.clusterId}`;
}

/**
 * The namespace's name follows from the app cluster's proven key, else from the identity, so that two logins at the same time cannot
 * make two. A namespace of the existing backend with this identity is taken over, unless it belongs to another issuer.
 */
export function clusterNamespaceName(prefix: string, identity: TenantIdentity): string {
  const text = JSON.stringify(ownerOf(identity));
  const digest = BigInt(`0x${createHash("sha256").update(text).digest("hex")}`).toString(36);
  return `${prefix}-${digest.slice(0, 10)}`;
}

/** Lists of different lengths, so that no person, key and program have the same one. */
function ownerOf({ issuer, subject, client, clusterId, clusterKey }: TenantIdentity): readonly string[] {
  if (client !== undefined) return [ciClientAnnotation, issuer, client, clusterId];
  return clusterKey === undefined ? [issuer, subject, clusterId] : [clusterKeyAnnotation, clusterKey];
}

/** Parts of `ensureTenant`. */
export interface TenantContext {
  readonly client: KubeClient;
  readonly namespaceCache: Informer<KubeObject>;
  readonly prefix: string;
  readonly prettyName: string;
  readonly limits: Limits;
  readonly clock: Clock;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
}

/** Throws `UserError` if an operator revoked the tenant that a bind would lead to, as far as the cache knows. Makes nothing. */
export function refuseAtLogin(
  { namespaceCache, prettyName }: Pick<TenantContext, "namespaceCache" | "prettyName">,
  identity: TenantIdentity,
): void {
  const { own, shared } = tenantsOf(namespaceCache, identity);
  const tenant = own ?? shared;
  if (tenant !== undefined) refuseRevokedTenant(tenant, prettyName);
  if (own === undefined) refuseRevokedPerson(namespaceCache.list(), identity, prettyName);
}

/** Returns the tenant that the person has from this app cluster and the keys that were proven for it, as far as the cache knows. */
export function ownTenant(
  { namespaceCache }: Pick<TenantContext, "namespaceCache">,
  identity: TenantIdentity,
): { readonly name: string; readonly keys: readonly string[] } | undefined {
  const { own } = tenantsOf(namespaceCache, identity);
  return own === undefined ? undefined : { name: nameOf(own), keys: clusterKeysOf(own) };
}

/** Returns the tenant that a confirmation would lead to, as far as the cache knows. Throws `UserError` if the person gets none. Makes nothing. */
export function tenantFor(
  context: TenantContext,
  identity: TenantIdentity,
): { readonly name: string; readonly relation: TenantRelation } {
  const { namespaceCache, prefix, limits } = context;
  refuseAtLogin(context, identity);
  const { own, shared } = tenantsOf(namespaceCache, identity);
  if (own !== undefined) return { name: nameOf(own), relation: "member" };
  if (shared !== undefined) return { name: nameOf(shared), relation: "joins" };
  refuseTooMany(namespaceCache.list(), identity.subject, limits);
  return { name: clusterNamespaceName(prefix, identity), relation: "founds" };
}

/** Creates missing objects; returns the cluster namespace. Throws `UserError` if an operator revoked it. */
export async function ensureTenant(
  context: TenantContext,
  identity: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<string> {
  const { client } = context;
  const namespace = await ensureNamespace(context, identity, options);
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: binderName } };
  await Promise.all([
    ensure(client, serviceAccounts, account, options),
    ensureClusterBinding(context, namespace, identity, options),
    ensureBinderRoleBinding(client, namespace, binderName, namespace, options),
  ]);
  return namespace;
}

/** Makes it, with the names of this login. */
async function ensureClusterBinding(
  { client, prettyName }: TenantContext,
  namespace: string,
  identity: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const binding = await ensure<ClusterBinding>(
    client,
    clusterBindings,
    {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "ClusterBinding",
      metadata: { namespace, name: clusterBindingName },
      spec: {
        kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey },
        providerPrettyName: prettyName,
      },
    },
    options,
  );
  await rememberNames(client, binding, identity, options);
}

/** Binds the app cluster's account to a ClusterRole inside `namespace`. */
export async function ensureBinderRoleBinding(
  client: KubeClient,
  namespace: string,
  clusterRole: string,
  clusterNamespace: string,
  options: RepeatOptions,
): Promise<void> {
  const roleBinding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { namespace, name: binderName },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
    subjects: [{ kind: "ServiceAccount", name: binderName, namespace: clusterNamespace }],
  };
  await keep(client, roleBindings, roleBinding, options);
}

async function ensureNamespace(
  context: TenantContext,
  identity: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<string> {
  const { client, clock, namespaceCache, prefix, prettyName } = context;
  const { client: ciClient, clusterKey } = identity;
  const { own, shared } = tenantsOf(namespaceCache, identity);
  if (own !== undefined) {
    const live = await client.get<KubeObject>(namespaces, { name: nameOf(own) }, options);
    refuseRevokedTenant(live, prettyName);
    await rememberLogin(context, live, identity, options);
    return nameOf(own);
  }
  if (shared !== undefined) return join(context, nameOf(shared), identity, options);
  refuseRevokedPerson(namespaceCache.list(), identity, prettyName);
  refuseTooMany(namespaceCache.list(), identity.subject, context.limits);
  const name = clusterNamespaceName(prefix, identity);
  const annotations = {
    [identityAnnotation]: identityOf(identity),
    [issuerAnnotation]: identity.issuer,
    ...(ciClient === undefined ? {} : { [ciClientAnnotation]: ciClient }),
    ...(clusterKey === undefined ? {} : { [clusterKeyAnnotation]: clusterKey }),
    ...withProof(undefined, identity.proof, identity, clock.now()),
  };
  try {
    await client.create<KubeObject>(
      namespaces,
      { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: podSecurity, annotations } },
      options,
    );
    recordMember(context, identity, name, "Founded");
    return name;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return useExisting(context, name, identity, options);
  }
}

/** Finds the tenant that the person founded or joined from this app cluster, and the one whose key they proved. */
function tenantsOf(
  namespaceCache: TenantContext["namespaceCache"],
  identity: TenantIdentity,
): { readonly own: KubeObject | undefined; readonly shared: KubeObject | undefined } {
  const { clusterKey } = identity;
  const isThere = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;
  const mine = namespaceCache.byIndex(byIdentity, identityOf(identity)).filter(isThere);
  const own =
    mine.find((tenant) => isFounder(tenant, identityOf(identity), identity)) ??
    mine.find((tenant) => isMember(tenant, identity));
  const [shared] =
    clusterKey === undefined
      ? []
      : namespaceCache.byIndex(byClusterKey, clusterKey).filter(isThere).toSorted(olderFirst);
  return { own, shared };
}

/** Handles a namespace that existed before the cache showed it: made by a concurrent login, or foreign. */
async function useExisting(
  context: TenantContext,
  name: string,
  identity: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<string> {
  const live = await context.client.get<KubeObject>(namespaces, { name }, options);
  if (live.metadata.deletionTimestamp !== undefined) {
    throw new UserError(
      409,
      "The namespace of this app cluster is still being deleted.",
      "Try again in a minute.",
      { passes: true },
    );
  }
  refuseRevokedTenant(live, context.prettyName);
  if (isFounder(live, identityOf(identity), identity)) {
    await rememberLogin(context, live, identity, options);
    return name;
  }
  if (identity.clusterKey !== undefined) return join(context, name, identity, options);
  throw belongsToOthers(name);
}

/** Makes the person a member of a tenant whose key they proved. The live object decides. */
async function join(
  context: TenantContext,
  name: string,
  identity: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<string> {
  const { client, clock, namespaceCache, prettyName } = context;
  const { issuer, subject, clusterKey, proof } = identity;
  const live = await client.get<KubeObject>(namespaces, { name }, options);
  if (clusterKey === undefined || !clusterKeysOf(live).includes(clusterKey)) throw belongsToOthers(name);
  refuseRevokedTenant(live, prettyName);
  refuseRevokedPerson(namespaceCache.list(), { issuer, subject }, prettyName);
  const used = withProof(live, proof, { issuer, subject }, clock.now());
  if (isMember(live, { issuer, subject })) {
    if (proof?.confirms === true) await annotate(client, live, used, options);
    return name;
  }
  const members = membersOf(live);
  if (members.length >= mostMembers) {
    throw new UserError(
      409,
      `${mostMembers} people use this app cluster already.`,
      "Ask the platform operator.",
    );
  }
  const since = new Date(clock.now()).toISOString();
  const next = JSON.stringify([...members, { issuer, subject, since }]);
  await annotate(client, live, { [membersAnnotation]: next, ...used }, options);
  recordMember(context, identity, name, "Joined");
  return name;
}

function recordMember(
  { audit = silentAudit }: TenantContext,
  asker: TenantIdentity,
  tenant: string,
  outcome: "Founded" | "Joined",
): void {
  audit.record({ decision: "addMember", allowed: true, outcome, asker, tenant });
}

/** A member's proof counts also when the app cluster got a new key. */
async function rememberLogin(
  { client, clock }: Pick<TenantContext, "client" | "clock">,
  live: KubeObject,
  { clusterKey, proof, ...person }: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const isNew = clusterKey !== undefined && live.metadata.annotations?.[clusterKeyAnnotation] !== clusterKey;
  const changes = {
    ...(isNew ? { [clusterKeyAnnotation]: clusterKey } : {}),
    ...(proof?.confirms === true ? withProof(live, proof, person, clock.now()) : {}),
  };
  if (Object.keys(changes).length > 0) await annotate(client, live, changes, options);
}

async function annotate(
  client: KubeClient,
  { metadata }: KubeObject,
  annotations: Readonly<Record<string, string>>,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const patch = { metadata: { resourceVersion: metadata.resourceVersion, annotations } };
  try {
    await client.mergePatch(namespaces, { name: metadata.name ?? "" }, patch, options);
  } catch (error) {
    if (!isConflict(error)) throw error;
    throw new UserError(409, "Another request changed this tenant at the same moment.", "Try again.", {
      cause: error,
      passes: true,
    });
  }
}

function belongsToOthers(name: string): UserError {
  return new UserError(409, `The namespace ${name} belongs to another owner.`, "Ask the platform operator.");
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? "";
}

/** Two tenants may have proved one key; everybody who joins later must meet in the same. */
function olderFirst(one: KubeObject, other: KubeObject): number {
  const order = (object: KubeObject): string =>
    `${object.metadata.creationTimestamp ?? ""} ${object.metadata.name ?? ""}`;
  return order(one) < order(other) ? -1 : 1;
}
