/**
 * Binds an app cluster from the provider's side. Each reconcile: finalizer → kubeconfig Secret → root namespace and
 * what lives in it → bindings and exports → konnector → status. A step that fails is reported in its condition, and the status is written
 * whatever happened; the failure then makes the controller try again.
 */
import { type AppClusterBinding, appClusterBindingFinalizer, appClusterBindings } from "@klutch/api";
import { falseCondition, isTrue, type NewCondition, setConditions } from "@klutch/kube-core";
import { isConflict, type KubeClient } from "@klutch/kube";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { cleanUp } from "./cleanup.ts";
import type { ControlPlaneContext, Step } from "./context.ts";
import { ensureKonnector, konnectorDeployed } from "./konnector-deployment.ts";
import {
  hasMirror,
  type KubeconfigVerdict,
  mirrorKubeconfig,
  readKubeconfig,
  removeMirror,
} from "./kubeconfig-secret.ts";
import { type Owner, ownerOf } from "./names.ts";
import { ensureNamespaceResources, ensureNamespace, isOurs, namespaceReady } from "./root-namespace.ts";
import { bindingsReady, ensureServiceBindings } from "./service-bindings.ts";

/** Interval between reads of the kubeconfig Secret and its copy, by name: a watch would need the right to list the Secrets of all users. */
const secretPollMs = 10_000;
/** Interval while the Secret is missing or wrong, because someone is waiting for it. */
const missingSecretPollMs = 3_000;

/** Keys are `namespace/name` of AppClusterBindings. */
export function createAppClusterBindingReconcile(context: ControlPlaneContext): Reconcile {
  const { client, controlPlane, clock } = context;
  return async (key, run) => {
    const cached = controlPlane.appClusterBindings.get(key);
    if (cached === undefined) return undefined;
    if (cached.metadata.deletionTimestamp !== undefined) return cleanUp(context, ownerOf(cached), run);
    const step: Step = { signal: run.signal };
    const owner = ownerOf(await withFinalizer(client, cached, step));
    const report = new Report(step);
    await reconcileAll(context, owner, report, step);
    const conditions = setConditions(owner.object.status?.conditions, report.conditions, clock.now());
    await ensureStatus(client, appClusterBindings, owner.object, { conditions }, step);
    if (report.failure !== undefined) throw report.failure;
    const isValid = isTrue(conditions, "SecretValid");
    return { requeueAfterMs: isValid ? secretPollMs : missingSecretPollMs };
  };
}

async function withFinalizer(
  client: KubeClient,
  object: AppClusterBinding,
  step: Step,
): Promise<AppClusterBinding> {
  const { namespace, name = "", resourceVersion, finalizers = [] } = object.metadata;
  if (finalizers.includes(appClusterBindingFinalizer)) return object;
  const patch = { metadata: { resourceVersion, finalizers: [...finalizers, appClusterBindingFinalizer] } };
  return client.mergePatch(appClusterBindings, { namespace, name }, patch, step);
}

/** Collects the conditions of all steps, and the first error. */
class Report {
  readonly #step: Step;
  readonly #conditions: NewCondition[] = [];
  #failure: Error | undefined;

  constructor(step: Step) {
    this.#step = step;
  }

  get conditions(): readonly NewCondition[] {
    return this.#conditions;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  add(condition: NewCondition): void {
    this.#conditions.push(condition);
  }

  /** Runs a step; its error becomes a condition of this type. It throws a conflict, which only means that the object changed meanwhile. */
  async run<T>(type: string, reason: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (this.#step.signal.aborted || isConflict(error) || !(error instanceof Error)) throw error;
      this.#failure ??= error;
      this.add(falseCondition(type, reason, "Error", error.message));
      return undefined;
    }
  }
}

async function reconcileAll(
  context: ControlPlaneContext,
  owner: Owner,
  report: Report,
  step: Step,
): Promise<void> {
  const { client, konnectorImages } = context;
  const verdict = await report.run("SecretValid", "KubeconfigSecretInvalid", () =>
    readKubeconfig(client, owner, step),
  );
  if (verdict !== undefined) report.add(verdict.condition);
  const mayGoOn = verdict !== undefined && (await ensureRootNamespace(context, owner, verdict, report, step));
  if (!mayGoOn) {
    addWaiting(owner, report);
    return;
  }
  const bound = await report.run(bindingsReady, "BindingsFailed", () =>
    ensureServiceBindings(context, owner, step),
  );
  if (bound !== undefined) report.add(bound);
  const deployed = await report.run(konnectorDeployed, "KonnectorDeploymentFailed", () =>
    ensureKonnector(client, owner, konnectorImages, step),
  );
  if (deployed !== undefined) report.add(deployed);
}

/** Returns true if the root namespace exists, is ours and holds a kubeconfig. */
async function ensureRootNamespace(
  context: ControlPlaneContext,
  owner: Owner,
  verdict: KubeconfigVerdict,
  report: Report,
  step: Step,
): Promise<boolean> {
  const { client, caches } = context;
  const { data } = verdict;
  if (data === undefined) {
    // Something that was bound stays bound while its Secret is broken or gone, but not when its owner withdrew it.
    const namespace = caches.namespaces.get(owner.root);
    if (namespace === undefined || !isOurs(namespace, owner)) return false;
    if (verdict.refused) await removeMirror(client, owner, step);
    return !verdict.refused && (await hasMirror(client, owner, step));
  }
  const isReady = await report.run(namespaceReady, "NamespaceFailed", async () => {
    const condition = await ensureNamespace(client, owner, step);
    if (condition.status === "True") {
      await ensureNamespaceResources(client, owner, step);
      await mirrorKubeconfig(client, owner, data, step);
    }
    report.add(condition);
    return condition.status === "True";
  });
  return isReady === true;
}

/** Adds conditions that only wait for an earlier failed one; they are no errors of their own. */
function addWaiting(owner: Owner, report: Report): void {
  const message = "Waiting for the kubeconfig Secret and the root namespace";
  report.add(falseCondition(bindingsReady, "Waiting", "Info", message));
  const { konnector } = owner.object.spec;
  report.add(
    konnector?.deploy === true
      ? falseCondition(konnectorDeployed, "Waiting", "Info", message)
      : { type: konnectorDeployed, status: "True" },
  );
}
