/** Says on each AppCluster whether its keys can be used, and whether its konnector has bound an API. Keys are names of AppClusters. */
import { type AppCluster, appClusters, ciClientAnnotation } from "@klutch/api";
import {
  falseCondition,
  type KubeObject,
  type NewCondition,
  setConditions,
  trueCondition,
} from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import { ownTenant } from "../provisioning/tenant.ts";
import { appClusterClient, appClusterIssuer, keysOf } from "./token.ts";

/** Creates it. */
export function createAppClusterReconcile({ client, caches, clock }: ControllerContext): Reconcile {
  return async (name, { signal }) => {
    const object = caches.appClusters.get(name);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
    const namespace = clusterNamespaceOf(caches, name);
    const found = [identityCondition(object), boundCondition(caches, name, namespace)];
    const conditions = setConditions(object.status?.conditions, found, clock.now());
    // Null removes the field.
    const place = namespace ?? (object.status?.namespace === undefined ? undefined : null);
    const status = { conditions, ...(place === undefined ? {} : { namespace: place }) };
    await ensureStatus(client, appClusters, object, status, { signal });
    return undefined;
  };
}

/** Returns the name of the AppCluster whose cluster namespace it is. */
export function appClusterOf({ metadata }: KubeObject): readonly string[] {
  const client = metadata.annotations?.[ciClientAnnotation] ?? "";
  return client.startsWith(appClusterClient("")) ? [client.slice(appClusterClient("").length)] : [];
}

function clusterNamespaceOf(
  { namespaces: namespaceCache }: ControllerContext["caches"],
  name: string,
): string | undefined {
  const client = appClusterClient(name);
  const identity = { issuer: appClusterIssuer, subject: client, client, clusterId: name };
  return ownTenant({ namespaceCache }, identity)?.name;
}

function identityCondition({ spec }: AppCluster): NewCondition {
  try {
    keysOf(spec.identity.jwks);
    return trueCondition("Identity");
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return falseCondition("Identity", "KeysInvalid", "Error", error.message);
  }
}

function boundCondition(
  { exports }: ControllerContext["caches"],
  name: string,
  namespace: string | undefined,
): NewCondition {
  const isBound = namespace !== undefined && exports.byIndex(byNamespace, namespace).length > 0;
  if (isBound) return trueCondition("Bound");
  const waits =
    namespace === undefined
      ? `The konnector of the app cluster has not called yet. Its chart needs provider.appCluster: ${name}, provider.url and bindings`
      : "The konnector of the app cluster has called, and has no API yet: its APIServiceBindings say why";
  const reason = namespace === undefined ? "NotSeen" : "NoAPI";
  return falseCondition("Bound", reason, "Info", waits);
}
