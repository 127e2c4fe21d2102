/** The konnector that runs in the root namespace, with the overrides of the AppClusterBinding. */
import {
  base62Hash,
  binderName,
  fieldManager,
  konnectorManifests,
  konnectorName,
  kubeconfigKey,
} from "@klutch/api";
import {
  canonicalJson,
  conditionsOf,
  deployments,
  type DynamicObject,
  falseCondition,
  isTrue,
  type NewCondition,
  numberAt,
  recordAt,
  recordsAt,
  trueCondition,
  valueAt,
} from "@klutch/kube-core";
import { isInvalid, type KubeClient } from "@klutch/kube";
import type { KonnectorImages, Step } from "./context.ts";
import { holds } from "./managed-content.ts";
import { konnectorDeploymentName, type Owner } from "./names.ts";
import { overrideFaults } from "./override-policy.ts";
import { strategicMerge } from "./strategic-merge.ts";

/** Condition of the Deployment; also True when none is wanted. */
export const konnectorDeployed = "KonnectorDeployed";
/** Hash of what was applied last: a field that is no longer wanted shows only here. */
const appliedAnnotation = "klutch.anynines.com/applied-hash";

/** Flags of a konnector that serves this AppClusterBinding. */
function konnectorArgs(owner: Owner): readonly string[] {
  return [
    "--control-plane-mode",
    `--app-cluster-kubeconfig-secret-name=${owner.object.spec.kubeconfigSecretRef.name}`,
    `--app-cluster-kubeconfig-secret-namespace=${owner.root}`,
    `--app-cluster-kubeconfig-secret-key=${kubeconfigKey}`,
    `--binding-root-namespace=${owner.root}`,
    "--lease-namespace=$(POD_NAMESPACE)",
  ];
}

/** The Deployment as it is applied. The base is that of an app cluster's konnector. */
export function konnectorDeployment(
  owner: Owner,
  image: string,
  overrides: Readonly<Record<string, unknown>> = owner.object.spec.konnector?.overrides ?? {},
): DynamicObject {
  const base = konnectorManifests({ image }).find(({ kind }) => kind === "Deployment");
  const spec = recordAt(base, "spec");
  const pod = recordAt(spec, "template", "spec");
  const generated = { ...containerOf(base), args: konnectorArgs(owner) };
  const labels = { app: konnectorName, ...owner.labels };
  const wanted = {
    ...spec,
    selector: { matchLabels: { app: konnectorName } },
    template: {
      metadata: { labels },
      spec: {
        ...pod,
        serviceAccountName: binderName,
        containers: [strategicMerge(generated, overrides)],
      },
    },
  };
  const annotations = {
    ...owner.annotations,
    [appliedAnnotation]: base62Hash(canonicalJson(wanted)).slice(0, 16),
  };
  const name = konnectorDeploymentName(owner.object.metadata.name ?? "");
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: owner.root, name, labels, annotations },
    spec: wanted,
  };
}

/** Applies or removes it; writes only when something differs. What the API server refuses is reported, not tried again and again. */
export async function ensureKonnector(
  client: KubeClient,
  owner: Owner,
  { image, allowedPrefixes }: KonnectorImages,
  step: Step,
): Promise<NewCondition> {
  const wanted = konnectorDeployment(owner, image);
  const { namespace, name = "" } = wanted.metadata;
  const present = await client.find<DynamicObject>(deployments, { namespace, name }, step);
  if (owner.object.spec.konnector?.deploy !== true) {
    if (present !== undefined) await client.delete(deployments, { namespace, name }, step);
    return trueCondition(konnectorDeployed);
  }
  const plain = konnectorDeployment(owner, image, {});
  const faultsOf = (deployment: DynamicObject): readonly string[] =>
    overrideFaults(containerOf(deployment), containerOf(plain), allowedPrefixes);
  const faults = faultsOf(wanted);
  if (faults.length > 0) {
    // The running Deployment stays, unless it violates the policy itself: then only a konnector without overrides may run.
    if (present !== undefined && faultsOf(present).length > 0) {
      await replaceContainer(client, plain, step);
    }
    return refused(faults);
  }
  if (present !== undefined && isApplied(present, wanted)) return availability(present);
  try {
    const options = { ...step, fieldManager, force: true };
    return availability(await client.apply<DynamicObject>(deployments, wanted, options));
  } catch (error) {
    if (isInvalid(error)) return failed(`The Deployment was refused: ${error.message}`);
    throw error;
  }
}

/** Fields that others own are taken back too, so the whole template is replaced. */
async function replaceContainer(client: KubeClient, plain: DynamicObject, step: Step): Promise<void> {
  const { namespace, name = "" } = plain.metadata;
  const containers = valueAt(plain.spec, "template", "spec", "containers");
  const spec = { template: { spec: { containers } } };
  await client.mergePatch(deployments, { namespace, name }, { spec }, step);
}

function refused(faults: readonly string[]): NewCondition {
  const message = `The konnector is not changed: ${faults.join(". ")}`;
  return falseCondition(konnectorDeployed, "OverridesNotAllowed", "Error", message);
}

function containerOf(
  deployment: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> {
  const [container = {}] = recordsAt(deployment, "spec", "template", "spec", "containers");
  return container;
}

function isApplied(present: DynamicObject, wanted: DynamicObject): boolean {
  const { labels, annotations } = wanted.metadata;
  return holds(present.metadata, { labels, annotations }) && holds(present.spec, wanted.spec);
}

/** Reports whether its Pods run, as the Deployment controller sees it. */
export function availability(deployment: DynamicObject): NewCondition {
  const { name = "", generation = 0 } = deployment.metadata;
  const conditions = conditionsOf(deployment);
  const observedGeneration = numberAt(deployment.status, "observedGeneration");
  if (observedGeneration === undefined || observedGeneration < generation) {
    return failed(`Deployment ${name} is not rolled out yet`);
  }
  if (isTrue(conditions, "Available")) return trueCondition(konnectorDeployed);
  const reasons = [
    ["ReplicaFailure", "True"],
    ["Progressing", "False"],
    ["Available", "False"],
  ].flatMap(([type, status]) =>
    conditions.filter((condition) => condition.type === type && condition.status === status),
  );
  const message = reasons.find((condition) => condition.message !== undefined)?.message;
  return failed(`Deployment ${name} is not available${message === undefined ? "" : `: ${message}`}`);
}

function failed(message: string): NewCondition {
  return falseCondition(konnectorDeployed, "KonnectorDeploymentFailed", "Error", message);
}
