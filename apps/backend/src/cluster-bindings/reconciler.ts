/** Watches over each bound app cluster: is its agent alive, and are its rights exactly those of its exports. */
import { binderName, type ClusterBinding, clusterBindings } from "@klutch/api";
import {
  falseCondition,
  findCondition,
  type NewCondition,
  parseDuration,
  setConditions,
  trueCondition,
} from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { AccountMissingError } from "../provisioning/account-missing.ts";
import type { CredentialIssuer } from "../provisioning/credentials.ts";
import { keepRenewal } from "../provisioning/renewal-key.ts";
import { ensureBinderRoleBinding } from "../provisioning/tenant.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import { ensureRights } from "./rights.ts";

/** Keys are `namespace/name` of ClusterBindings. */
export function createClusterBindingReconcile(context: ControllerContext): Reconcile {
  const { caches, client, clock, credentials } = context;
  return async (key, { signal }) => {
    const binding = caches.bindings.get(key);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) return undefined;
    const namespace = binding.metadata.namespace ?? "";
    await ensureBinderRoleBinding(client, namespace, binderName, namespace, { signal });
    await ensureRights(context, namespace, signal);
    if (context.renewalUrl !== undefined) {
      const own = caches.namespaces.get(namespace);
      await keepRenewal(client, binding, own, context.renewalUrl, signal);
    }
    const { renewInMs, revoked } = await keepFresh(credentials, namespace, signal);
    const { condition, requeueMs } = healthOf(binding, clock.now());
    const found = [revoked ?? condition, ...mappingLimit(context, binding)];
    const conditions = setConditions(binding.status?.conditions, found, clock.now());
    await ensureStatus(client, clusterBindings, binding, { conditions }, { signal });
    return { requeueAfterMs: Math.min(renewInMs, requeueMs) };
  };
}

const withinLimits = "WithinLimits";

/** Reported once there was something to report. */
function mappingLimit(
  { caches, limits }: ControllerContext,
  binding: ClusterBinding,
): readonly NewCondition[] {
  const all = caches.mappings.byIndex(byNamespace, binding.metadata.namespace ?? "");
  const waiting = all.filter(({ status }) => status?.namespace === undefined);
  const most = limits.namespacesPerCluster;
  if (all.length > most && waiting.length > 0) {
    const names = waiting.slice(0, 5).map(({ metadata }) => metadata.name);
    const message =
      `${all.length} namespaces of the app cluster have bound objects, and ${most} are allowed. ${waiting.length} are not synced, ` +
      `for example ${names.join(", ")}. Delete the bound objects of some namespaces, or ask the platform operator to raise --max-namespaces-per-cluster`;
    return [falseCondition(withinLimits, "TooManyNamespaces", "Warning", message)];
  }
  const wasTold = findCondition(binding.status?.conditions, withinLimits) !== undefined;
  return wasTold ? [trueCondition(withinLimits)] : [];
}

/** An account that an operator deleted stays deleted until a person binds again; the binding says so. */
async function keepFresh(
  credentials: CredentialIssuer,
  namespace: string,
  signal: AbortSignal,
): Promise<{ readonly renewInMs: number; readonly revoked?: NewCondition }> {
  try {
    return await credentials.ensure(namespace, { signal });
  } catch (error) {
    if (!(error instanceof AccountMissingError)) throw error;
    const revoked = falseCondition("Healthy", "AccountMissing", "Error", error.message);
    return { renewInMs: silentRequeueMs, revoked };
  }
}

const silentRequeueMs = 60_000;

/** Judges whether the agent reports as often as it promised, and when to reconcile again, because silence causes no event. */
export function healthOf(
  binding: ClusterBinding,
  now: number,
): { readonly condition: NewCondition; readonly requeueMs: number } {
  const { lastHeartbeatTime, heartbeatInterval } = binding.status ?? {};
  const notHealthy = (reason: string, severity: "Info" | "Error", message: string): NewCondition =>
    falseCondition("Healthy", reason, severity, message);
  if (lastHeartbeatTime === undefined) {
    const condition = notHealthy(
      "FirstHeartbeatPending",
      "Info",
      "Waiting for the first heartbeat of the konnector",
    );
    return { condition, requeueMs: silentRequeueMs };
  }
  const intervalMs = heartbeatInterval === undefined ? undefined : parseDuration(heartbeatInterval);
  if (intervalMs === undefined) {
    const condition = notHealthy(
      "HeartbeatIntervalMissing",
      "Info",
      "The konnector has not set status.heartbeatInterval",
    );
    return { condition, requeueMs: silentRequeueMs };
  }
  const silentMs = now - Date.parse(lastHeartbeatTime);
  if (silentMs > 2 * intervalMs) {
    const condition = notHealthy(
      "HeartbeatTimeout",
      "Error",
      `No heartbeat of the konnector since ${lastHeartbeatTime}`,
    );
    return { condition, requeueMs: silentRequeueMs };
  }
  return { condition: trueCondition("Healthy"), requeueMs: 2 * intervalMs - silentMs + 1_000 };
}
