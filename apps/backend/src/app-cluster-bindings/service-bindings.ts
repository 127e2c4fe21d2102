/** The APIServiceBindings, export requests and exports of an AppClusterBinding: one of each for every API it lists. */
import {
  appClusterBindingNameLabel,
  type APIServiceBinding,
  apiServiceBindings,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  type APIServiceExportTemplate,
  crdNameOf,
  type GroupResource,
  type PermissionClaim,
  rejectedClaims,
} from "@klutch/api";
import {
  containsEqualLists,
  falseCondition,
  findCondition,
  isTrue,
  jsonEqual,
  type NewCondition,
  trueCondition,
} from "@klutch/kube-core";
import { byNamespace } from "../controller-context.ts";
import { ensureAnswers } from "../exports/answers.ts";
import { answeredClaims } from "./answered-claims.ts";
import type { ControlPlaneContext, Step } from "./context.ts";
import { exportRequestName, type Owner } from "./names.ts";

/** Condition that says whether all listed APIs are bound. */
export const bindingsReady = "BindingsReady";

interface WantedApi {
  readonly name: string;
  readonly api: GroupResource;
  readonly template: APIServiceExportTemplate | undefined;
}

interface Problem {
  readonly reason: "TemplateNotFound" | "ExportFailed" | "BindingsPending";
  readonly message: string;
}

/** Creates, corrects and removes bindings; a listed one whose template is missing is kept unchanged. */
export async function ensureServiceBindings(
  context: ControlPlaneContext,
  owner: Owner,
  step: Step,
): Promise<NewCondition> {
  const wanted = wantedApis(context, owner);
  const { items } = await context.client.list<APIServiceBinding>(apiServiceBindings, {
    ...step,
    namespace: owner.root,
  });
  const present = new Map(items.map((binding) => [binding.metadata.name ?? "", binding]));
  const problems: Problem[] = [];
  for (const api of wanted.values()) {
    const problem =
      (await ensureBinding(context, owner, api, present.get(api.name), step)) ??
      (await ensureExport(context, owner, api, present.get(api.name), step)) ??
      notReady(api.name, present.get(api.name));
    if (problem !== undefined) problems.push(problem);
  }
  for (const binding of items.filter(({ metadata }) => !wanted.has(metadata.name ?? ""))) {
    if (binding.metadata.labels?.[appClusterBindingNameLabel] === undefined) continue;
    problems.push(await removeBinding(context, binding, step));
  }
  await removeExports(context, owner, wanted, present, step);
  return summaryOf(problems);
}

function wantedApis(context: ControlPlaneContext, owner: Owner): ReadonlyMap<string, WantedApi> {
  const apis = owner.object.spec.apiExports ?? [];
  return new Map(
    apis.map((api) => {
      const name = crdNameOf(api);
      return [name, { name, api, template: context.exportTemplates.template(api.group ?? "", api.resource) }];
    }),
  );
}

async function ensureBinding(
  context: ControlPlaneContext,
  owner: Owner,
  { name, template }: WantedApi,
  present: APIServiceBinding | undefined,
  step: Step,
): Promise<Problem | undefined> {
  if (template === undefined) {
    return { reason: "TemplateNotFound", message: `no APIServiceExportTemplate selects ${name}` };
  }
  if (present?.metadata.deletionTimestamp !== undefined) {
    return { reason: "BindingsPending", message: `${name} is still being unbound` };
  }
  const { root: namespace, labels, annotations } = owner;
  const claims = template.spec.permissionClaims ?? [];
  const permissionClaims = answeredClaims(claims, present?.spec.permissionClaims ?? []);
  if (present === undefined) {
    const { name: secret, key } = owner.object.spec.kubeconfigSecretRef;
    const binding: APIServiceBinding = {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceBinding",
      metadata: { namespace, name, labels, annotations },
      spec: { kubeconfigSecretRef: { namespace, name: secret, key }, permissionClaims },
    };
    await context.client.create(apiServiceBindings, binding, step);
    return undefined;
  }
  const isSame =
    jsonEqual(present.spec.permissionClaims ?? [], permissionClaims) &&
    containsEqualLists(present.metadata, { labels, annotations });
  if (isSame) return undefined;
  // Guarded by the resourceVersion: an answer that a user gives at this moment must not be lost.
  const { resourceVersion } = present.metadata;
  const patch = { metadata: { resourceVersion, labels, annotations }, spec: { permissionClaims } };
  await context.client.mergePatch(apiServiceBindings, { namespace, name }, patch, step);
  return undefined;
}

/** Asks for the export unless it is there, and again when an answered request did not lead to one. */
async function ensureExport(
  context: ControlPlaneContext,
  owner: Owner,
  { name, api, template }: WantedApi,
  binding: APIServiceBinding | undefined,
  step: Step,
): Promise<Problem | undefined> {
  const { client, caches } = context;
  const { root: namespace, labels, annotations } = owner;
  if (template === undefined) return undefined;
  const asked = template.spec.permissionClaims ?? [];
  const answered = answeredClaims(asked, binding?.spec.permissionClaims ?? []);
  // Rights follow the binding's answers, no matter who changed them.
  const accepted = answered.filter(({ state }) => state === "Accepted");
  const exported = caches.exports.get(`${namespace}/${name}`);
  if (exported !== undefined) {
    await ensureAnswers(client, exported, rejectedClaims(asked, accepted), step);
    return undefined;
  }
  const requestName = exportRequestName(owner.object.metadata.name ?? "", template.metadata.name ?? "", name);
  const ref = { namespace, name: requestName };
  const present = await client.find<APIServiceExportRequest>(apiServiceExportRequests, ref, step);
  const pending: Problem = { reason: "BindingsPending", message: `${name} is not exported yet` };
  if (present === undefined) {
    const { group = "", resource } = api;
    const permissionClaims = asked.filter((claim) => accepted.some((one) => isSameResource(one, claim)));
    const request: APIServiceExportRequest = {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceExportRequest",
      metadata: { ...ref, labels, annotations },
      spec: { resources: [{ group, resource, permissionClaims }] },
    };
    await client.create(apiServiceExportRequests, request, step);
    return pending;
  }
  const { phase, terminalMessage, conditions } = present.status ?? {};
  if (phase === "Succeeded") {
    const isThere = await client.find(apiServiceExports, { namespace, name }, step);
    if (isThere === undefined) await client.delete(apiServiceExportRequests, ref, step);
    return pending;
  }
  if (phase === "Failed") {
    return { reason: "ExportFailed", message: `${name}: ${terminalMessage ?? "the export request failed"}` };
  }
  const why = findCondition(conditions, "ExportsReady")?.message;
  return why === undefined ? pending : { ...pending, message: `${name}: ${why}` };
}

function isSameResource(left: PermissionClaim, right: PermissionClaim): boolean {
  return crdNameOf(left) === crdNameOf(right);
}

function notReady(name: string, binding: APIServiceBinding | undefined): Problem | undefined {
  const conditions = binding?.status?.conditions;
  if (isTrue(conditions, "Ready")) return undefined;
  const why = findCondition(conditions, "Ready")?.message ?? "the konnector has not taken it up yet";
  return { reason: "BindingsPending", message: `${name}: ${why}` };
}

/** Deletes a binding. Its finalizer keeps it until the konnector has unbound the API. */
async function removeBinding(
  context: ControlPlaneContext,
  { metadata }: APIServiceBinding,
  step: Step,
): Promise<Problem> {
  const { namespace, name = "", uid } = metadata;
  if (metadata.deletionTimestamp === undefined) {
    await context.client.delete(apiServiceBindings, { namespace, name }, { ...step, preconditions: { uid } });
  }
  return { reason: "BindingsPending", message: `${name} is being unbound` };
}

/** Exports go last: the konnector's rights hang on them, and it needs these to unbind. */
async function removeExports(
  context: ControlPlaneContext,
  owner: Owner,
  wanted: ReadonlyMap<string, WantedApi>,
  bindings: ReadonlyMap<string, APIServiceBinding>,
  step: Step,
): Promise<void> {
  const { client, caches } = context;
  const { root: namespace } = owner;
  const { items } = await client.list<APIServiceExportRequest>(apiServiceExportRequests, {
    ...step,
    namespace,
    labelSelector: appClusterBindingNameLabel,
  });
  for (const { metadata, spec } of items) {
    if (spec.resources.some((resource) => wanted.has(crdNameOf(resource)))) continue;
    await client.delete(apiServiceExportRequests, { namespace, name: metadata.name ?? "" }, step);
  }
  for (const { metadata } of caches.exports.byIndex(byNamespace, namespace)) {
    const { name = "", uid, deletionTimestamp } = metadata;
    if (wanted.has(name) || bindings.has(name) || deletionTimestamp !== undefined) continue;
    await client.delete(apiServiceExports, { namespace, name }, { ...step, preconditions: { uid } });
  }
}

function summaryOf(problems: readonly Problem[]): NewCondition {
  const order = ["TemplateNotFound", "ExportFailed", "BindingsPending"] as const;
  const reason = order.find((one) => problems.some((problem) => problem.reason === one));
  if (reason === undefined) return trueCondition(bindingsReady);
  const message = problems
    .filter((problem) => problem.reason === reason)
    .map((problem) => problem.message)
    .join("; ");
  const severity = reason === "BindingsPending" ? "Info" : "Error";
  return falseCondition(bindingsReady, reason, severity, message);
}
