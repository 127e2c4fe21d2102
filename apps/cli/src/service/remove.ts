/** Implements `klutch service remove`: removes an unused service's API. */
import { aggregateToBackendLabel, apiServiceExportTemplates, serviceTypeLabel } from "@klutch/api";
import { isNotFound } from "@klutch/kube";
import {
  clusterRoles,
  type DynamicObject,
  type KubeObject,
  recordAt,
  recordsAt,
  type ResourceType,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import {
  compositionType,
  backupConfigName,
  claimResource,
  type Generation,
  providerConfigName,
  serviceTypePattern,
} from "@klutch/services";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { counted } from "../findings.ts";
import {
  connectControlPlane,
  type ControlPlane,
  definitions,
  foreignReason,
  missingPart,
} from "./control-plane.ts";
import { configsOf, type ServiceOptions } from "./generation.ts";

/**
 * Runs the command: first deletes the template, so that no one binds the API any more, then the definition, then the Compositions. Refuses
 * while claims or composites exist, because Crossplane would delete them together with their databases, and while bindings, backups or
 * restores name the type, because app clusters would refuse them afterwards. It can be run again.
 */
export async function removeService(
  context: CliContext,
  service: string,
  options: ServiceOptions,
): Promise<void> {
  const { terminal } = context;
  if (!new RegExp(serviceTypePattern).test(service))
    throw new CliError(
      "Usage",
      `${JSON.stringify(service)} is not the type of a service, which has lower case letters, digits and hyphens, such as postgresql. ${nothingChanged}`,
    );
  await using cluster = await connectControlPlane(options);
  const { generation } = options;
  const xrds = (await labelled(context, cluster, definitions, service)).filter(
    (xrd) => textAt(xrd, "spec", "group") === generation.group,
  );
  const compositions = (await labelled(context, cluster, compositionType, service)).filter(
    (made) => textAt(made, "spec", "compositeTypeRef", "apiVersion") === `${generation.group}/v1`,
  );
  // Templates of a package's services have the label, too.
  const templates = (await labelled(context, cluster, apiServiceExportTemplates, service)).filter(
    (template) => xrds.some((xrd) => isOfferedBy(template, xrd)),
  );
  if (xrds.length + compositions.length === 0)
    throw new CliError(
      "Usage",
      `Nothing here was made from a table of the type ${service} for claims of ${generation.name}. ${nothingChanged}`,
    );
  const roles = (await labelled(context, cluster, clusterRoles, service)).filter(
    (role) =>
      role.metadata.labels?.[aggregateToBackendLabel] === "true" &&
      recordsAt(role, "rules").some(
        ({ apiGroups }) => Array.isArray(apiGroups) && apiGroups.includes(generation.group),
      ),
  );
  for (const object of [...templates, ...xrds, ...compositions, ...roles]) {
    const reason = foreignReason(object, service);
    if (reason !== undefined)
      throw new CliError("Conflict", `${object.metadata.name} ${reason}. ${nothingChanged}`);
  }
  for (const xrd of xrds) await refuseUsed(context, cluster, xrd, nothingChanged);
  await refuseNamed(context, cluster, service, generation);
  if (options.dryRun) {
    terminal.say("Dry run: nothing was changed.");
    return;
  }
  await remove(context, cluster, apiServiceExportTemplates, templates);
  // A claim may have come while the template was still there.
  for (const xrd of xrds) await refuseUsed(context, cluster, xrd, "Only the template is gone.");
  await remove(context, cluster, definitions, xrds);
  await remove(context, cluster, compositionType, compositions);
  await remove(context, cluster, clusterRoles, roles);
  await tellLeft(context, cluster, service, configsOf(generation));
}

/** Finds ProviderConfigs, which belong to people and may be in use by objects that are still being deleted. */
async function tellLeft(
  { terminal, signal }: CliContext,
  { client }: ControlPlane,
  service: string,
  type: ResourceType,
): Promise<void> {
  const names = [providerConfigName(service), backupConfigName(service)];
  const found = await Promise.all(names.map((name) => client.find(type, { name }, { signal })));
  const left = names.filter((_, index) => found[index] !== undefined).map((name) => `${type.kind} ${name}`);
  if (left.length > 0) terminal.say(`Left: ${left.join(", ")}. Delete what you do not need any more.`);
}

async function labelled(
  { signal }: CliContext,
  { client }: ControlPlane,
  type: ResourceType,
  service: string,
): Promise<readonly DynamicObject[]> {
  try {
    const { items } = await client.list<DynamicObject>(type, {
      labelSelector: `${serviceTypeLabel}=${service}`,
      signal,
    });
    return items;
  } catch (error) {
    throw missingPart(error, type);
  }
}

function isOfferedBy(template: DynamicObject, xrd: DynamicObject): boolean {
  const selector = recordAt(template, "spec", "APIServiceSelector");
  const plural = textAt(xrd, "spec", "claimNames", "plural") ?? textAt(xrd, "spec", "names", "plural");
  return (
    plural !== undefined &&
    selector["resource"] === plural &&
    selector["group"] === textAt(xrd, "spec", "group")
  );
}

async function refuseUsed(
  context: CliContext,
  { client }: ControlPlane,
  xrd: DynamicObject,
  state: string,
): Promise<void> {
  const group = textAt(xrd, "spec", "group") ?? "";
  const isLegacy = valueAt(xrd, "spec", "claimNames") !== undefined;
  for (const [names, namespaced] of isLegacy
    ? ([
        ["claimNames", true],
        ["names", false],
      ] as const)
    : ([["names", true]] as const)) {
    const kind = textAt(xrd, "spec", names, "kind") ?? "";
    const plural = textAt(xrd, "spec", names, "plural") ?? "";
    const type = { group, version: "v1", plural, kind, namespaced };
    const used = await namesOf(context, client, type);
    if (used.length > 0) throw stillUsed(used, kind, ", which would be deleted with the API", state);
  }
}

/** Claims that all services share say the type. */
async function refuseNamed(
  context: CliContext,
  { client }: ControlPlane,
  service: string,
  generation: Generation,
): Promise<void> {
  for (const kind of ["ServiceBinding", "Backup", "Restore"]) {
    const used = await namesOf(
      context,
      client,
      claimResource(kind, generation),
      (claim) => textAt(claim, "spec", "serviceInstanceType") === service,
    );
    if (used.length > 0) throw stillUsed(used, kind, ` of the type ${service}`, nothingChanged);
  }
}

function stillUsed(names: readonly string[], kind: string, what: string, state: string): CliError {
  const some = names.slice(0, 5).join(", ") + (names.length > 5 ? ", …" : "");
  const [verb, them] = names.length === 1 ? ["is", "it"] : ["are", "them"];
  return new CliError(
    "Conflict",
    `There ${verb} ${counted(names.length, kind)} (${some})${what}. Delete ${them} first. ${state}`,
  );
}

async function namesOf(
  { signal }: CliContext,
  client: ControlPlane["client"],
  type: ResourceType,
  isMeant?: (claim: KubeObject) => boolean,
): Promise<readonly string[]> {
  try {
    const { items } = await client.list<KubeObject>(type, { metadataOnly: isMeant === undefined, signal });
    return items
      .filter(isMeant ?? (() => true))
      .map(({ metadata }) =>
        [metadata.namespace, metadata.name].filter((part) => part !== undefined).join("/"),
      );
  } catch (error) {
    // Crossplane never served it, so no objects exist.
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function remove(
  { signal, terminal }: CliContext,
  { client }: ControlPlane,
  type: ResourceType,
  objects: readonly DynamicObject[],
): Promise<void> {
  for (const { metadata } of objects) {
    const { name = "", namespace, uid } = metadata;
    await client.delete(type, { name, namespace }, { preconditions: { uid }, signal });
    terminal.say(`Deleted ${type.kind} ${name}.`);
  }
}
