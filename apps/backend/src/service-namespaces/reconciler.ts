/** Gives each mapped namespace of an app cluster its own namespace in the provider cluster. */
import {
  type APIServiceNamespace,
  apiServiceNamespaces,
  binderClusterRoleName,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
  serviceNamespaceOwner,
} from "@klutch/api";
import { type KubeObject, namespaces, refOf } from "@klutch/kube-core";
import { isAlreadyExists } from "@klutch/kube";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { ensureBinderRoleBinding } from "../provisioning/tenant.ts";
import { isOverLimit, olderFirst } from "../limits.ts";
import { ensurePodSecurity, podSecurity } from "../pod-security.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import type { RecentStates } from "../recent.ts";
import { limitNamespace, namespaceLimit } from "../tenants/limits.ts";

/** Keys are `namespace/name` of APIServiceNamespaces. */
export function createServiceNamespaceReconcile(context: ControllerContext, states: RecentStates): Reconcile {
  const { caches, client } = context;
  return async (key, { signal, logger }) => {
    const { namespace: clusterNamespace = "", name: consumerNamespace } = refOf(key);
    const owner = serviceNamespaceOwner(clusterNamespace, consumerNamespace);
    const mapping = caches.mappings.get(key);
    const name = mapping?.status?.namespace ?? serviceNamespaceName(clusterNamespace, consumerNamespace);
    if (mapping === undefined || mapping.metadata.deletionTimestamp !== undefined) {
      await removeNamespace(context, name, key, signal);
      return undefined;
    }
    if (isBeyond(context, mapping)) {
      // The ClusterBinding says so. It is looked at again when a mapping goes (`waitingFor`), and not before: there may be thousands.
      return undefined;
    }
    const annotations = { [serviceNamespaceAnnotation]: owner };
    const present =
      caches.namespaces.get(name) ?? (await createNamespace(context, name, annotations, signal));
    if (present.metadata.annotations?.[serviceNamespaceAnnotation] !== owner) {
      // A foreign namespace is never handed out, whatever its name.
      logger.error("the service namespace belongs to another owner", { namespace: name, owner });
      return { requeueAfterMs: 60_000 };
    }
    if (present.metadata.deletionTimestamp !== undefined) return { requeueAfterMs: 1_000 };
    await ensurePodSecurity(client, present, { signal });
    await limitNamespace(context, clusterNamespace, name, signal);
    const options = { signal, recent: states.of(present.metadata.uid) };
    await ensureBinderRoleBinding(
      client,
      name,
      binderClusterRoleName(clusterNamespace),
      clusterNamespace,
      options,
    );
    await ensureStatus(client, apiServiceNamespaces, mapping, { namespace: name }, { signal });
    return undefined;
  };
}

/** Returns the mappings, oldest first, for which a mapping that went from this cluster namespace may have made room. */
export function waitingFor(
  context: Pick<ControllerContext, "caches" | "limits">,
  clusterNamespace: string,
): readonly APIServiceNamespace[] {
  const all = context.caches.mappings.byIndex(byNamespace, clusterNamespace);
  const waiting = all.filter(({ status }) => status?.namespace === undefined);
  const room = namespaceLimit(context, clusterNamespace).most - (all.length - waiting.length);
  return room <= 0 ? [] : waiting.toSorted(olderFirst).slice(0, room);
}

function isBeyond(context: ControllerContext, mapping: APIServiceNamespace): boolean {
  const { namespace = "" } = mapping.metadata;
  const all = context.caches.mappings.byIndex(byNamespace, namespace);
  const isIn = ({ status }: APIServiceNamespace): boolean => status?.namespace !== undefined;
  return isOverLimit(mapping, all, isIn, namespaceLimit(context, namespace).most);
}

async function createNamespace(
  context: ControllerContext,
  name: string,
  annotations: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<KubeObject> {
  try {
    const metadata = { name, labels: podSecurity, annotations };
    const object: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata };
    return await context.client.create(namespaces, object, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return context.client.get(namespaces, { name }, { signal });
  }
}

/** Deletes only our own namespace, and only if a live read shows that the mapping is gone: a stale cache must not cost data. */
async function removeNamespace(
  context: ControllerContext,
  name: string,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const { client, caches } = context;
  const { namespace = "", name: consumerNamespace } = refOf(key);
  const owner = serviceNamespaceOwner(namespace, consumerNamespace);
  const present = caches.namespaces.get(name);
  if (present === undefined || present.metadata.annotations?.[serviceNamespaceAnnotation] !== owner) return;
  if (present.metadata.deletionTimestamp !== undefined) return;
  const live = await client.find(apiServiceNamespaces, { namespace, name: consumerNamespace }, { signal });
  if (live !== undefined && live.metadata.deletionTimestamp === undefined) return;
  await client.delete(namespaces, { name }, { signal, preconditions: { uid: present.metadata.uid } });
}
