/** The konnector in the app cluster: whether it has to be installed or changed, and the wait until it has started. */
import {
  apiServiceBindings,
  artefact,
  compareVersions,
  consumerNamespace,
  crdNameOf,
  klutchVersion,
  type Manifest,
  printable,
  releaseRegistry,
  versionNumbers,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  type KubeObject,
  namespaces,
  type ResourceType,
  roleBindings,
  roles,
  serviceAccounts,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { isNotFound } from "@klutch/kube";
import { type Consumer, pluginManager } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { readAnswers } from "./answers.ts";
import { createBindingKind } from "./binding-kind.ts";
import { releasedImage, watchesAll } from "./konnector-image.ts";
import { lackOfApi, roleManifests } from "./rights.ts";
import { endUpdates, followingManifests, readUpdates, updatesWith } from "./updates.ts";
import type { CommonOptions } from "../options.ts";
import { waitFor } from "../wait.ts";

/** Decision about the konnector, with the reason in words. */
export type KonnectorPlan =
  | { readonly kind: "apply"; readonly image: string; readonly reason: string }
  | { readonly kind: "keep"; readonly reason: string };

type PlanOptions = Pick<
  CommonOptions,
  "konnectorImage" | "registry" | "skipKonnector" | "downgradeKonnector"
> &
  Partial<Pick<CommonOptions, "followUpdates">>;

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
  if (options.followUpdates !== undefined) return apply("--follow-updates is given");
  return options.registry === undefined || released.registry === options.registry
    ? { kind: "keep", reason: `it is already ${tag}` }
    : apply(`it comes from ${released.registry}`);
}

/** Returns true if the konnector that runs once the plan is carried out watches all claimed objects, whatever names a claim gives. */
export function willWatchAll(current: string | undefined, options: PlanOptions): boolean {
  const plan = planKonnector(current, options);
  return watchesAll(plan.kind === "apply" ? plan.image : current);
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
  MutatingAdmissionPolicy: mutatingAdmissionPolicies,
  MutatingAdmissionPolicyBinding: mutatingAdmissionPolicyBindings,
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

/** Roles and role bindings for everything that is bound, each by the claims that people accepted, and rights in them that would be new. */
export async function rolesOfBindings(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<{ readonly manifests: readonly Manifest[]; readonly missing: readonly string[] }> {
  const { bindings = [], roles: found } = await readAnswers(consumer, signal);
  const all = bindings.map((api) => ({ api, lack: lackOfApi(api, found.grants) }));
  return {
    manifests: all.filter(({ lack }) => lack.length === 0).flatMap(({ api }) => roleManifests(api)),
    missing: all.flatMap(({ api, lack }) => [
      ...lack.map((right) => `${api.name}: ${right}`),
      ...api.unanswered.map((claim) => `${api.name}: ${crdNameOf(claim)}, which no one accepted here`),
    ]),
  };
}

/** Carries the plan out and says so. */
export async function installKonnector(
  context: CliContext,
  consumer: Consumer,
  plan: KonnectorPlan,
  { followUpdates }: Partial<Pick<CommonOptions, "followUpdates">> = {},
): Promise<void> {
  if (plan.kind === "keep") {
    const unchanged = followUpdates === undefined ? "" : " --follow-updates changes nothing then.";
    context.terminal.say(`Konnector left as it is: ${plan.reason}.${unchanged}`);
    return;
  }
  const { signal } = context;
  const updates = updatesWith(plan.image, await readUpdates(consumer, signal), followUpdates);
  await createBindingKind(consumer, signal);
  // Bindings come before the base role, which may replace an older agent's unlimited role: bound APIs keep working.
  const { manifests, missing } = await rolesOfBindings(consumer, signal);
  await applyManifests(consumer, manifests, signal);
  if (missing.length > 0)
    context.terminal.say(
      `Bound APIs lack rights of the konnector, which are not given without a question: ${printable(missing.join("; "))}. klutch doctor --fix shows them and asks.`,
    );
  await applyManifests(consumer, followingManifests(plan.image, updates), signal);
  if (followUpdates === "none") await endUpdates(consumer, signal);
  context.terminal.say(
    `Installed konnector ${plan.image} in namespace ${consumerNamespace}: ${plan.reason}.`,
  );
  if (updates !== undefined)
    context.terminal.say(
      `It follows updates that the control plane wants: ${updates.line} versions from ${updates.floor} on, of ${updates.repository} only.`,
    );
}

/** Waits until the kind APIServiceBinding is served, which a konnector also installs when it starts. */
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
