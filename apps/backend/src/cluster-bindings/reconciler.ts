/** Watches over each bound app cluster: is its agent alive, and are its rights exactly those of its exports. */
import {
  binderName,
  type ClusterBinding,
  clusterBindings,
  type ClusterBindingStatus,
  parseClusterBinding,
  renewalKeyAnnotation,
} from "@klutch/api";
import {
  falseCondition,
  findCondition,
  type KubeObject,
  type NewCondition,
  refOf,
  setConditions,
  trueCondition,
} from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { isRevokedExport } from "../authorization/revoked-exports.ts";
import { AccountMissingError } from "../provisioning/account-missing.ts";
import type { CredentialIssuer } from "../provisioning/credentials.ts";
import { keepRenewal } from "../provisioning/renewal-key.ts";
import { offersPollMs } from "../offers.ts";
import { ensurePodSecurity } from "../pod-security.ts";
import { isRevoked } from "../provisioning/revocation.ts";
import { ensureBinderRoleBinding } from "../provisioning/tenant.ts";
import { ensureTenantQuota } from "../provisioning/tenant-quota.ts";
import { olderFirst } from "../limits.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import type { RecentStates } from "../recent.ts";
import { type Heartbeats, silentRequeueMs } from "./heartbeats.ts";
import { namespaceLimit } from "../tenants/limits.ts";
import { ensureRights } from "./rights.ts";
import type { WithdrawnRights } from "./withdrawn-rights.ts";

/** Keys are `namespace/name` of ClusterBindings. */
export function createClusterBindingReconcile(
  context: ControllerContext,
  heartbeats: Heartbeats,
  withdrawn: WithdrawnRights,
  states: RecentStates,
): Reconcile {
  const { caches, client, clock, credentials } = context;
  return async (key, { signal, logger }) => {
    const binding = caches.bindings.get(key);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) {
      withdrawn.forget(refOf(key).namespace ?? "");
      return undefined;
    }
    const namespace = binding.metadata.namespace ?? "";
    const options = { signal, recent: states.of(binding.metadata.uid) };
    await ensureBinderRoleBinding(client, namespace, binderName, namespace, options);
    const namespacesPerCluster = namespaceLimit(context, namespace).most;
    await ensureTenantQuota(
      client,
      namespace,
      { ...context.limits, namespacesPerCluster },
      { ...options, logger },
    );
    const rights = await ensureRights(context, namespace, options);
    const own = caches.namespaces.get(namespace);
    if (own !== undefined) await ensurePodSecurity(client, own, { signal });
    if (context.renewalUrl !== undefined) await keepRenewal(client, binding, own, context.renewalUrl, signal);
    const { renewInMs, revoked } = await keepFresh(credentials, namespace, own, signal);
    const { condition, requeueMs } = heartbeats.judge(key, binding);
    const authorized = await withdrawn.judge(binding, { signal, logger });
    const found = [revoked ?? condition, ...mappingLimit(context, binding), ...authorized];
    const { kept, dropped } = boundedStatus(binding);
    const conditions = setConditions(kept.conditions, found, clock.now());
    const bound = caches.exports.byIndex(byNamespace, namespace);
    const boundAPIs = bound.filter((object) => !isRevokedExport(object)).length;
    await ensureStatus(client, clusterBindings, binding, { conditions, boundAPIs, ...dropped }, { signal });
    const offersMs = rights === "whole" ? Number.POSITIVE_INFINITY : offersPollMs;
    return { requeueAfterMs: Math.min(renewInMs, requeueMs, offersMs) };
  };
}

/** Splits the words of the app cluster's account into those that stay, and fields that are removed because they are too long. */
function boundedStatus(binding: ClusterBinding): {
  readonly kept: ClusterBindingStatus;
  readonly dropped: Readonly<Record<string, null>>;
} {
  const { status: kept } = parseClusterBinding(binding);
  const texts = ["lastHeartbeatTime", "heartbeatInterval", "konnectorVersion", "renewalKey"] as const;
  const tooLong = texts.filter((name) => (binding.status?.[name] ?? "") !== "" && kept[name] === undefined);
  return { kept, dropped: Object.fromEntries(tooLong.map((name) => [name, null])) };
}

const withinLimits = "WithinLimits";

/** Reported once there was something to report. */
function mappingLimit(context: ControllerContext, binding: ClusterBinding): readonly NewCondition[] {
  const { namespace = "" } = binding.metadata;
  const all = context.caches.mappings.byIndex(byNamespace, namespace);
  const waiting = all.filter(({ status }) => status?.namespace === undefined);
  const { most, setBy } = namespaceLimit(context, namespace);
  if (all.length > most && waiting.length > 0) {
    // The youngest wait on when others get their turn, so that the message stays the same meanwhile.
    const names = waiting
      .toSorted(olderFirst)
      .slice(-5)
      .map(({ metadata }) => metadata.name);
    const message =
      `${all.length} namespaces of the app cluster have bound objects, and ${most} are allowed. ${all.length - most} are not synced, ` +
      `for example ${names.join(", ")}. Delete the bound objects of some namespaces, or ask the platform operator to raise ${setBy}`;
    return [falseCondition(withinLimits, "TooManyNamespaces", "Warning", message)];
  }
  const wasTold = findCondition(binding.status?.conditions, withinLimits) !== undefined;
  return wasTold ? [trueCondition(withinLimits)] : [];
}

/** An account that an operator deleted stays deleted until a person binds again; the binding says so, and what must happen before. */
async function keepFresh(
  credentials: CredentialIssuer,
  namespace: string,
  own: KubeObject | undefined,
  signal: AbortSignal,
): Promise<{ readonly renewInMs: number; readonly revoked?: NewCondition }> {
  try {
    return await credentials.ensure(namespace, { signal });
  } catch (error) {
    if (!(error instanceof AccountMissingError)) throw error;
    const message = own !== undefined && isRevoked(own) ? revokedMessage(namespace) : error.message;
    const revoked = falseCondition("Healthy", "AccountMissing", "Error", message);
    return { renewInMs: silentRequeueMs, revoked };
  }
}

function revokedMessage(namespace: string): string {
  return (
    `The operator revoked the access of this app cluster: ServiceAccount ${namespace}/${binderName} does not exist, and kubectl bind is ` +
    `refused. To allow it again, run kubectl annotate namespace ${namespace} ${renewalKeyAnnotation}-, then kubectl bind in that cluster`
  );
}
