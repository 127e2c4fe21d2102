/**
 * The common part of both commands: from export requests to bindings. Everything that can be refused is found out first; the app
 * cluster is written to only when the provider has made the exports and the person has answered all questions.
 */
import {
  type AnsweredPermissionClaim,
  type APIServiceBinding,
  type APIServiceExport,
  bindingRoleManifests,
  bindingRoleName,
  bindingRules,
  crdNameOf,
  type ExportRequestResponse,
  type PermissionClaim,
  type PolicyRule,
} from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import { claimFaults } from "@klutch/sync";
import { answerClaims } from "./claims.ts";
import type { Consumer, Provider } from "./clusters.ts";
import {
  bindingOf,
  createBinding,
  ensureNamespace,
  existingBinding,
  findKubeconfigSecret,
  resourceOf,
  writeKubeconfigSecret,
} from "./consumer.ts";
import type { CliContext } from "./context.ts";
import { CliError } from "./errors.ts";
import { requestExports } from "./export-request.ts";
import {
  applyManifests,
  installKonnector,
  konnectorImage,
  planKonnector,
  waitForBindingKind,
} from "./konnector.ts";
import type { CommonOptions } from "./options.ts";

/** One API and what was decided about it. */
interface Decision {
  readonly name: string;
  readonly resource: { readonly group: string; readonly resource: string };
  readonly claims: readonly AnsweredPermissionClaim[];
  /** Exists already and stays as it is. */
  readonly existing: APIServiceBinding | undefined;
}

/** Binds all APIs of the requests. Running it again after a failure completes what is missing. */
export async function bindApis(
  context: CliContext,
  consumer: Consumer,
  provider: Provider,
  requests: readonly ExportRequestResponse[],
  options: CommonOptions,
): Promise<APIServiceBinding[]> {
  const { signal } = context;
  const secretName = await findKubeconfigSecret(consumer, provider, signal);
  for (const request of requests) {
    for (const resource of request.spec.resources) {
      await existingBinding(consumer, crdNameOf(resource), secretName, signal);
    }
  }
  const decisions: Decision[] = [];
  for (const request of requests) {
    for (const exported of await requestExports(context, provider, request, options.timeoutMs)) {
      decisions.push(await decide(context, consumer, exported, secretName, options));
    }
  }
  await ensureNamespace(context, consumer);
  const plan = planKonnector(await konnectorImage(consumer, signal), options);
  await installKonnector(context, consumer, plan);
  await waitForBindingKind(context, consumer, options);
  const writtenName = await writeKubeconfigSecret(context, consumer, provider, secretName);
  const bindings: APIServiceBinding[] = [];
  for (const decision of decisions) {
    bindings.push(await carryOut(context, consumer, decision, writtenName));
  }
  return bindings;
}

async function decide(
  context: CliContext,
  consumer: Consumer,
  exported: APIServiceExport,
  secretName: string | undefined,
  options: CommonOptions,
): Promise<Decision> {
  const resource = resourceOf(exported);
  const name = crdNameOf(resource);
  const existing = await existingBinding(consumer, name, secretName, context.signal);
  if (existing !== undefined) {
    context.terminal.say(`APIServiceBinding ${name} exists; its permissions stay as they were answered.`);
    return { name, resource, claims: existing.spec.permissionClaims ?? [], existing };
  }
  context.terminal.say(`Binding ${name} gives the konnector in this cluster these rights:`);
  for (const rule of bindingRules(resource, [])) context.terminal.say(`  ${describeRule(rule)}`);
  const rightsOf = (claim: PermissionClaim): string[] =>
    bindingRules(resource, [claim]).slice(bindingRules(resource, []).length).map(describeRule);
  const { honourable, refused } = await sortClaims(context, consumer, name, exported.spec);
  const answered = await answerClaims(context, name, honourable, options.claims, rightsOf);
  return { name, resource, claims: [...answered, ...refused], existing };
}

/** Claims that this cluster can honour, and the others as rejected. Throws when one of those is required. */
async function sortClaims(
  context: CliContext,
  consumer: Consumer,
  api: string,
  { permissionClaims = [], informerScope }: APIServiceExport["spec"],
): Promise<{
  readonly honourable: readonly PermissionClaim[];
  readonly refused: readonly AnsweredPermissionClaim[];
}> {
  const honourable: PermissionClaim[] = [];
  const refused: AnsweredPermissionClaim[] = [];
  for (const claim of permissionClaims) {
    const query = { group: claim.group ?? "", version: claim.version, plural: claim.resource };
    const served = await discoverResource(consumer.client, query, { signal: context.signal });
    const faults =
      served === undefined
        ? [
            `permission claim on ${claim.resource}: this cluster does not serve ${claim.resource} ${claim.version}`,
          ]
        : claimFaults(claim, { namespaced: served.namespaced, clusterWide: informerScope === "Cluster" });
    if (faults.length === 0) {
      honourable.push(claim);
      continue;
    }
    const reason = faults.join("; ");
    if (claim.required === true) {
      throw new CliError(
        "PermissionRejected",
        `${api} cannot be bound, because a permission that it requires cannot be given: ${reason}. Nothing was changed in this cluster.`,
      );
    }
    context.terminal.say(`Rejected, because it cannot be given here: ${reason}.`);
    refused.push({ ...claim, state: "Rejected" });
  }
  return { honourable, refused };
}

/** `get, list on secrets`, or `… on widgets.example.org/status`. */
export function describeRule({ verbs, resources = [], apiGroups = [] }: PolicyRule): string {
  const group = apiGroups[0] === undefined || apiGroups[0] === "" ? "" : `.${apiGroups[0]}`;
  const names = resources.map((resource) => resource.replace(/^[^/]+/, (plural) => `${plural}${group}`));
  return `${verbs.join(", ")} on ${names.join(", ")}`;
}

async function carryOut(
  context: CliContext,
  consumer: Consumer,
  decision: Decision,
  secretName: string,
): Promise<APIServiceBinding> {
  const { name, resource, claims, existing } = decision;
  const rules = bindingRules(resource, claims);
  await applyManifests(consumer, bindingRoleManifests(bindingRoleName(name), rules), context.signal);
  if (existing !== undefined) return existing;
  const created = await createBinding(context, consumer, bindingOf(name, secretName, claims));
  context.terminal.say(`Created APIServiceBinding ${created.metadata.namespace}/${name}.`);
  return created;
}
