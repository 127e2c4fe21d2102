/** The place of one app cluster in the control plane: namespace, account, rights, ClusterBinding. Every step can be repeated. */
import { createHash } from "node:crypto";
import {
  binderName,
  clusterBindingName,
  clusterBindings,
  identityAnnotation,
  kubeconfigKey,
  namespaces,
  roleBindings,
  serviceAccounts,
} from "@klutch/api";
import { isAlreadyExists, type KubeClient, type KubeObject } from "@klutch/kube";
import type { Informer } from "@klutch/kube-runtime";
import { ensure } from "../apply.ts";
import { UserError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { Identity } from "../oidc/identity-provider.ts";
import { refuseTooMany } from "./tenant-limit.ts";

/** Name of the cache index by identity. */
export const byIdentity = "identity";
/** Issuer of the identity, which the existing annotation leaves out. */
const issuerAnnotation = "klutch.anynines.com/identity-issuer";

/** Who binds from where. */
export interface TenantIdentity extends Identity {
  readonly clusterId: string;
}

/** `<subject>#<cluster id>`, as the existing backend writes it. */
export function identityOf(identity: TenantIdentity): string {
  return `${identity.subject}#${identity.clusterId}`;
}

/**
 * The namespace's name follows from the identity, so that two logins at the same time cannot make two (B28). A namespace of the
 * existing backend with this identity is taken over, unless it belongs to another issuer.
 */
export function clusterNamespaceName(prefix: string, identity: TenantIdentity): string {
  const text = JSON.stringify([identity.issuer, identity.subject, identity.clusterId]);
  const digest = BigInt(`0x${createHash("sha256").update(text).digest("hex")}`).toString(36);
  return `${prefix}-${digest.slice(0, 10)}`;
}

/** Parts of `ensureTenant`. */
export interface TenantContext {
  readonly client: KubeClient;
  readonly namespaceCache: Informer<KubeObject>;
  readonly prefix: string;
  readonly prettyName: string;
  readonly limits: Limits;
}

/** Makes what is missing; gives back the cluster namespace. */
export async function ensureTenant(
  context: TenantContext,
  identity: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<string> {
  const { client, prettyName } = context;
  const namespace = await ensureNamespace(context, identity, options);
  await ensure(
    client,
    serviceAccounts,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: binderName } },
    options,
  );
  await ensure(
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
  await ensureBinderRoleBinding(client, namespace, binderName, namespace, options);
  return namespace;
}

/** Binds the app cluster's account to a ClusterRole inside `namespace`. */
export async function ensureBinderRoleBinding(
  client: KubeClient,
  namespace: string,
  clusterRole: string,
  clusterNamespace: string,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const roleBinding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { namespace, name: binderName },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
    subjects: [{ kind: "ServiceAccount", name: binderName, namespace: clusterNamespace }],
  };
  await ensure(client, roleBindings, roleBinding, options);
}

async function ensureNamespace(
  context: TenantContext,
  identity: TenantIdentity,
  options: { readonly signal: AbortSignal },
): Promise<string> {
  const { client, namespaceCache, prefix } = context;
  const own = namespaceCache
    .byIndex(byIdentity, identityOf(identity))
    .find(({ metadata }) => [undefined, identity.issuer].includes(metadata.annotations?.[issuerAnnotation]));
  if (own?.metadata.name !== undefined && own.metadata.deletionTimestamp === undefined)
    return own.metadata.name;
  refuseTooMany(namespaceCache.list(), identity.subject, context.limits);
  const name = clusterNamespaceName(prefix, identity);
  const annotations = { [identityAnnotation]: identityOf(identity), [issuerAnnotation]: identity.issuer };
  try {
    await client.create<KubeObject>(
      namespaces,
      { apiVersion: "v1", kind: "Namespace", metadata: { name, annotations } },
      options,
    );
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { metadata } = await client.get(namespaces, { name }, options);
    if (metadata.deletionTimestamp !== undefined) {
      throw new UserError(
        409,
        "What this cluster had here is still being deleted.",
        "Try again in a minute.",
      );
    }
    if (metadata.annotations?.[identityAnnotation] !== identityOf(identity)) {
      throw new UserError(
        409,
        `The namespace ${name} belongs to somebody else.`,
        "Ask the platform operator.",
      );
    }
  }
  return name;
}
