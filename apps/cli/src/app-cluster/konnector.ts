/** The konnector in the app cluster: whether it has to be installed or changed, and the wait until it has started. */
import {
  apiServiceBindings,
  artefact,
  compareVersions,
  consumerNamespace,
  klutchVersion,
  konnectorManifests,
  konnectorName,
  type Manifest,
  releaseRegistry,
  type VersionNumbers,
  versionNumbers,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  type DynamicObject,
  isRecord,
  type KubeObject,
  namespaces,
  recordsAt,
  type ResourceType,
  roleBindings,
  roles,
  serviceAccounts,
  textAt,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { isNotFound } from "@klutch/kube";
import { type Consumer, pluginManager } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { listBindings } from "./bound-resource.ts";
import { roleManifests } from "./rights.ts";
import type { CommonOptions } from "../options.ts";
import { waitFor } from "../wait.ts";

/** Decision about the konnector, with the reason in words. */
export type KonnectorPlan =
  | { readonly kind: "apply"; readonly image: string; readonly reason: string }
  | { readonly kind: "keep"; readonly reason: string };

type PlanOptions = Pick<
  CommonOptions,
  "konnectorImage" | "registry" | "skipKonnector" | "downgradeKonnector"
>;

/** Decides from the image that runs now; undefined when there is no Deployment. */
export function planKonnector(current: string | undefined, options: PlanOptions): KonnectorPlan {
  const own = artefact("konnector", { registry: options.registry });
  const apply = (reason: string): KonnectorPlan => ({ kind: "apply", image: own, reason });
  if (options.konnectorImage !== undefined) {
    return { kind: "apply", image: options.konnectorImage, reason: "its image is given by flag" };
  }
  if (options.skipKonnector) return { kind: "keep", reason: "--skip-konnector is given" };
  if (current === undefined) return apply("none is installed yet");
  const released = releasedImage(current);
  // Without the flag the plugin replaces neither a custom image nor a mirror's.
  const isComparable = released?.registry === releaseRegistry || options.registry !== undefined;
  if (released === undefined || !isComparable) {
    const remedy =
      "--registry or --konnector-image replaces it; klutch upgrade --check says first what changes";
    return { kind: "keep", reason: `the version of its image ${current} cannot be compared. ${remedy}` };
  }
  const { tag, version } = released;
  const difference = compareVersions(version, versionNumbers(klutchVersion) ?? [0, 0, 0]);
  if (difference > 0) {
    return options.downgradeKonnector
      ? apply(`${tag} is newer, and --downgrade-konnector is given`)
      : { kind: "keep", reason: `${tag} is newer than this plugin; --downgrade-konnector would replace it` };
  }
  if (difference < 0) return apply(`${tag} is older`);
  return options.registry === undefined || released.registry === options.registry
    ? { kind: "keep", reason: `it is already ${tag}` }
    : apply(`it comes from ${released.registry}`);
}

/** The parts of an image that is called as ours and has a version; undefined for any other. */
function releasedImage(
  image: string,
): { readonly registry: string; readonly tag: string; readonly version: VersionNumbers } | undefined {
  const [, registry, tag] = /^(.+)\/konnector:([^/@]+)(?:@[^/]*)?$/.exec(image) ?? [];
  const version = tag === undefined ? undefined : versionNumbers(tag);
  return registry === undefined || tag === undefined || version === undefined
    ? undefined
    : { registry, tag, version };
}

/** Image of the konnector's Deployment, if there is one. */
export async function konnectorImage(consumer: Consumer, signal: AbortSignal): Promise<string | undefined> {
  const ref = { namespace: consumerNamespace, name: konnectorName };
  const deployment = await consumer.client.find<DynamicObject>(deployments, ref, { signal });
  if (deployment === undefined || !isRecord(deployment.spec)) return undefined;
  const containers = recordsAt(deployment.spec, "template", "spec", "containers");
  const container = containers.find((one) => one["name"] === konnectorName) ?? containers[0];
  return textAt(container, "image") ?? "";
}

const resourceOfKind: Readonly<Record<string, ResourceType>> = {
  Namespace: namespaces,
  ServiceAccount: serviceAccounts,
  ClusterRole: clusterRoles,
  ClusterRoleBinding: clusterRoleBindings,
  Role: roles,
  RoleBinding: roleBindings,
  Deployment: deployments,
  ValidatingAdmissionPolicy: validatingAdmissionPolicies,
  ValidatingAdmissionPolicyBinding: validatingAdmissionPolicyBindings,
};

/**
 * Applies manifests in their order. Fields of an older plugin are taken over, so that its unlimited ClusterRole shrinks to what
 * the konnector needs.
 */
export async function applyManifests(
  consumer: Consumer,
  manifests: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const manifest of manifests) {
    const type = resourceOfKind[manifest.kind];
    if (type === undefined)
      throw new CliError("Manifest", `${manifest.kind} cannot be applied by this plugin.`);
    await consumer.client.apply(type, manifest, { fieldManager: pluginManager, force: true, signal });
  }
}

/** Roles and role bindings for everything that is bound, each by its own accepted claims. */
export async function rolesOfBindings(consumer: Consumer, signal: AbortSignal): Promise<readonly Manifest[]> {
  return ((await listBindings(consumer, signal)) ?? []).flatMap(roleManifests);
}

/** Carries the plan out and says so. */
export async function installKonnector(
  context: CliContext,
  consumer: Consumer,
  plan: KonnectorPlan,
): Promise<void> {
  if (plan.kind === "keep") {
    context.terminal.say(`Konnector left as it is: ${plan.reason}.`);
    return;
  }
  const { signal } = context;
  // Bindings come before the base role, which may replace an older agent's unlimited role: bound APIs keep working.
  await applyManifests(consumer, await rolesOfBindings(consumer, signal), signal);
  await applyManifests(consumer, konnectorManifests({ image: plan.image }), signal);
  context.terminal.say(
    `Installed konnector ${plan.image} in namespace ${consumerNamespace}: ${plan.reason}.`,
  );
}

/** Waits until the kind APIServiceBinding is served, which the konnector installs when it starts. */
export async function waitForBindingKind(
  context: CliContext,
  consumer: Consumer,
  options: { readonly timeoutMs: number; readonly skipKonnector: boolean },
): Promise<void> {
  const problem = (): string =>
    `The app cluster does not serve the kind APIServiceBinding. ${
      options.skipKonnector
        ? "The konnector was not installed (--skip-konnector). Start it and run the command again."
        : `Check that the konnector starts: kubectl --namespace ${consumerNamespace} get pods. Then run the command again.`
    }`;
  await waitFor(
    context,
    { what: "the konnector to start", timeoutMs: options.timeoutMs, problem },
    async () => {
      try {
        await consumer.client.list(apiServiceBindings, {
          namespace: consumerNamespace,
          limit: 1,
          signal: context.signal,
        });
        return true;
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
  );
}
