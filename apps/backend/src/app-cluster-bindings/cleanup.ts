/**
 * Takes an AppClusterBinding down: first the konnector unbinds, while it still has credentials, rights and exports; then the rights go, then
 * the root namespace with its content, then the finalizer. Every reconcile reads the live objects.
 */
import {
  appClusterBindingNameLabel,
  type APIServiceBinding,
  apiServiceBindings,
  appClusterBindingFinalizer,
  appClusterBindings,
  binderClusterRoleName,
  binderClusterWideName,
  type ClusterBinding,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  unbindFinalizer,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  type DynamicObject,
  falseCondition,
  isRecord,
  leases,
  namespaces,
  type NewCondition,
  setConditions,
} from "@klutch/kube-core";
import type { ReconcileContext, ReconcileResult } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { healthOf } from "../cluster-bindings/heartbeats.ts";
import type { ControlPlaneContext, Step } from "./context.ts";
import { type Owner } from "./names.ts";
import { isOurs } from "./root-namespace.ts";

/** Time to wait for a konnector that does not run. */
const abandonAfterMs = 120_000;
const requeueMs = 2_000;

/** Runs one reconcile. The last one removes the finalizer. */
export async function cleanUp(
  context: ControlPlaneContext,
  owner: Owner,
  run: ReconcileContext,
): Promise<ReconcileResult | undefined> {
  if (!(owner.object.metadata.finalizers ?? []).includes(appClusterBindingFinalizer)) return undefined;
  const { client } = context;
  const step: Step = { signal: run.signal };
  const namespace = await client.find(namespaces, { name: owner.root }, step);
  // A foreign namespace, and the rights that go with its name, are not ours to remove.
  if (namespace !== undefined && !isOurs(namespace, owner)) return removeFinalizer(context, owner, step);
  if (namespace !== undefined) {
    const waitMs = await unbind(context, owner, run);
    if (waitMs !== undefined) return { requeueAfterMs: waitMs };
    // Without it the controller of ClusterBindings would give the rights again.
    await client.delete(clusterBindings, { namespace: owner.root, name: clusterBindingName }, step);
  }
  for (const name of [binderClusterRoleName(owner.root), binderClusterWideName(owner.root)]) {
    await client.delete(clusterRoleBindings, { name }, step);
    await client.delete(clusterRoles, { name }, step);
  }
  if (namespace !== undefined) {
    const { uid, deletionTimestamp } = namespace.metadata;
    if (deletionTimestamp === undefined) {
      await client.delete(namespaces, { name: owner.root }, { ...step, preconditions: { uid } });
    }
    const message = `Waiting until namespace ${owner.root} is deleted`;
    await writeCondition(
      context,
      owner,
      falseCondition("CleanedUp", "NamespaceTerminating", "Info", message),
      step,
    );
    return { requeueAfterMs: requeueMs };
  }
  return removeFinalizer(context, owner, step);
}

/** Milliseconds to wait, or undefined when no binding is left. */
async function unbind(
  context: ControlPlaneContext,
  owner: Owner,
  { signal, logger }: ReconcileContext,
): Promise<number | undefined> {
  const { client, clock } = context;
  const list = async (): Promise<readonly APIServiceBinding[]> =>
    (
      await client.list<APIServiceBinding>(apiServiceBindings, {
        signal,
        namespace: owner.root,
        labelSelector: appClusterBindingNameLabel,
      })
    ).items;
  for (const { metadata } of await list()) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const ref = { namespace: owner.root, name: metadata.name ?? "" };
    await client.delete(apiServiceBindings, ref, { signal, preconditions: { uid: metadata.uid } });
  }
  const left = await list();
  if (left.length === 0) return undefined;
  const names = left.map(({ metadata }) => metadata.name).join(", ");
  const since = Math.max(...left.map(({ metadata }) => Date.parse(metadata.deletionTimestamp ?? "")));
  const waitedMs = clock.now() - since;
  if (await konnectorRuns(context, owner, { signal })) {
    const message = `Waiting for the konnector to unbind ${names}`;
    await writeCondition(context, owner, falseCondition("Unbound", "Unbinding", "Info", message), { signal });
    return 15_000;
  }
  if (waitedMs < abandonAfterMs) {
    const message = `No konnector runs to unbind ${names}. After two minutes the cleanup continues without one`;
    await writeCondition(context, owner, falseCondition("Unbound", "KonnectorNotRunning", "Info", message), {
      signal,
    });
    return Math.min(15_000, abandonAfterMs - waitedMs + 500);
  }
  const message =
    `No konnector ran for two minutes, so ${names} were deleted without unbinding. CustomResourceDefinitions and claims stay ` +
    "in the app cluster. Remove the finalizer klutch.anynines.com/syncer from the claims by hand";
  logger.warn("unbinding was given up because no konnector runs", { bindings: names });
  await writeCondition(context, owner, falseCondition("Unbound", "KonnectorNotRunning", "Warning", message), {
    signal,
  });
  for (const binding of left) await abandon(context, binding, { signal });
  return requeueMs;
}

/** Removes only our own finalizer: any other keeps the binding. */
async function abandon(context: ControlPlaneContext, binding: APIServiceBinding, step: Step): Promise<void> {
  const { namespace, name = "", resourceVersion, finalizers = [] } = binding.metadata;
  if (!finalizers.includes(unbindFinalizer)) return;
  const rest = finalizers.filter((finalizer) => finalizer !== unbindFinalizer);
  const patch = { metadata: { resourceVersion, finalizers: rest } };
  await context.client.mergePatch(apiServiceBindings, { namespace, name }, patch, step);
}

/** Returns true if the lease in the root namespace has a live holder or, with a lease elsewhere, if the heartbeat is fresh. */
async function konnectorRuns(context: ControlPlaneContext, owner: Owner, step: Step): Promise<boolean> {
  const { client, clock } = context;
  const ref = { namespace: owner.root, name: consumerNamespace };
  const lease = await client.find<DynamicObject>(leases, ref, step);
  if (lease !== undefined && isRecord(lease.spec)) {
    const { holderIdentity, renewTime, leaseDurationSeconds } = lease.spec;
    if (typeof holderIdentity !== "string" || holderIdentity === "") return false;
    const seconds = typeof leaseDurationSeconds === "number" ? leaseDurationSeconds : 15;
    return Date.parse(String(renewTime)) + 2_000 * seconds > clock.now();
  }
  const heart = { namespace: owner.root, name: clusterBindingName };
  const binding = await client.find<ClusterBinding>(clusterBindings, heart, step);
  return binding !== undefined && healthOf(binding, clock.now()).condition.status === "True";
}

async function writeCondition(
  context: ControlPlaneContext,
  owner: Owner,
  condition: NewCondition,
  step: Step,
): Promise<void> {
  const { client, clock } = context;
  const conditions = setConditions(owner.object.status?.conditions, [condition], clock.now());
  await ensureStatus(client, appClusterBindings, owner.object, { conditions }, step);
}

async function removeFinalizer(context: ControlPlaneContext, owner: Owner, step: Step): Promise<undefined> {
  const { namespace, name = "", resourceVersion, finalizers = [] } = owner.object.metadata;
  const rest = finalizers.filter((finalizer) => finalizer !== appClusterBindingFinalizer);
  const patch = { metadata: { resourceVersion, finalizers: rest } };
  await context.client.mergePatch(appClusterBindings, { namespace, name }, patch, step);
}
