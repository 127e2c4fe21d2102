/**
 * Prints the objects that a real run would write (`--dry-run`), without changing either cluster. `bind <url>` reads the provider's
 * description and stops before the login, because choosing an API in the browser already creates a tenant there.
 */
import {
  type AnsweredPermissionClaim,
  boundApiRoleManifests,
  apiLimit,
  claimMarks,
  consumerNamespace,
  crdNameOf,
  type ExportRequestResponse,
  judgeClaim,
  kubeconfigKey,
  type PermissionClaim,
  type RequestedResource,
} from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";
import { acceptedOf } from "./answers.ts";
import type { Consumer, Provider } from "../clusters.ts";
import {
  bindingOf,
  existingBinding,
  findKubeconfigSecret,
  kubeconfigSecret,
  namespaceManifest,
  namespaceUid,
} from "./consumer.ts";
import type { CliContext } from "../context.ts";
import { exportRequestOf, withAnswers } from "./export-request.ts";
import { readAnswers } from "../app-cluster/answers.ts";
import { konnectorImage } from "../app-cluster/konnector-image.ts";
import { planKonnector, rolesOfBindings, willWatchAll } from "../app-cluster/konnector.ts";
import { followingManifests, readUpdates, updatesWith } from "../app-cluster/updates.ts";
import type { ClaimAnswer, CommonOptions } from "../options.ts";

/** Stands for the name of a Secret that a real run would create with a random suffix. */
const undecidedSecretName = "kubeconfig-xxxxxxxx";

/** The Secret that a login leads to, as far as it is known before. */
export const secretAfterLogin: DynamicObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: undecidedSecretName, namespace: consumerNamespace },
  type: "Opaque",
  stringData: { [kubeconfigKey]: "[given by the provider after the login]" },
};

/** The namespace and the konnector, as far as they would be written. */
export async function plannedBase(
  context: CliContext,
  consumer: Consumer,
  options: CommonOptions,
): Promise<KubeObject[]> {
  const { signal } = context;
  const missing = (await namespaceUid(consumer, signal)) === undefined;
  const plan = planKonnector(await konnectorImage(consumer, signal), options);
  context.terminal.say(
    `Konnector ${plan.kind === "apply" ? `${plan.image} would be installed` : "would be left as it is"}: ${plan.reason}.`,
  );
  if (plan.kind === "apply") {
    const { manifests } = await rolesOfBindings(consumer, signal);
    const updates = updatesWith(plan.image, await readUpdates(consumer, signal), options.followUpdates);
    return [...manifests, ...followingManifests(plan.image, updates)];
  }
  return missing ? [namespaceManifest] : [];
}

/** Plans all objects that `bind apiservice` would write, in both clusters. The Secret's credential is left out. */
export async function plannedApis(
  context: CliContext,
  consumer: Consumer,
  provider: Provider,
  requests: readonly ExportRequestResponse[],
  options: CommonOptions,
): Promise<KubeObject[]> {
  const secretName = await findKubeconfigSecret(consumer, provider, context.signal);
  const { bindings = [], image } = await readAnswers(consumer, context.signal);
  const isWide = willWatchAll(image, options);
  const answers = new Map<string, readonly PermissionClaim[]>();
  const later: KubeObject[] = [];
  for (const resource of requests.flatMap(({ spec }) => spec.resources)) {
    const name = crdNameOf(resource);
    const existing = await existingBinding(consumer, name, secretName, context.signal);
    const bound = existing === undefined ? undefined : bindings.find((api) => api.name === name);
    const claims = existing === undefined ? plannedClaims(resource, options.claims) : (bound?.claims ?? []);
    answers.set(name, acceptedOf(claims));
    later.push(...boundApiRoleManifests(resource, claims, { isWide: bound?.isWide ?? isWide }));
    if (existing === undefined) later.push(bindingOf(name, secretName ?? undecidedSecretName, claims));
    if (options.marksAtAdmission) later.push(...claimMarks.manifestsOf(name));
    later.push(...apiLimit.manifestsOf(name));
  }
  return [
    ...requests.map((request) => exportRequestOf(withAnswers(request, answers), provider.namespace)),
    ...(await plannedBase(context, consumer, options)),
    redacted(kubeconfigSecret(secretName ?? undecidedSecretName, provider)),
    ...later,
  ];
}

/** The claims of the request as they would be answered; a person who is asked is taken to say yes. */
function plannedClaims(
  { group = "", permissionClaims = [] }: RequestedResource,
  answer: ClaimAnswer,
): readonly AnsweredPermissionClaim[] {
  return permissionClaims.flatMap((claim): AnsweredPermissionClaim[] => {
    const { kind } = judgeClaim(claim, { group });
    if (kind === "refused") return [];
    const isRejected = answer === "reject" || (answer === "accept" && kind === "grave");
    return [{ ...claim, state: isRejected ? "Rejected" : "Accepted" }];
  });
}

function redacted(secret: DynamicObject): KubeObject {
  const { data: _data, ...rest } = secret;
  const withHint = { ...rest, stringData: { [kubeconfigKey]: "[redacted]" } };
  return withHint;
}
