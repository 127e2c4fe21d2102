/** The control plane cluster, with the rights of the person who runs the command. */
import {
  aggregateToBackendLabel,
  apiServiceExportTemplates,
  offerRules,
  serviceTypeLabel,
} from "@klutch/api";
import { createKubeClient, isNotFound, type KubeClient, loadKubeconfig } from "@klutch/kube";
import {
  apiVersionOf,
  clusterRoles,
  type DynamicObject,
  type KubeObject,
  recordsAt,
  type ResourceType,
  type Role,
  textAt,
} from "@klutch/kube-core";
import { backendClaimRules, compositionType, type Generation, type ServiceManifests } from "@klutch/services";
import { CliError, nothingChanged } from "../errors.ts";
import type { CommonOptions } from "../options.ts";

/** The control plane cluster. */
export interface ControlPlane extends AsyncDisposable {
  readonly side: "control plane";
  readonly client: KubeClient;
}

/** Field manager of what the commands write. */
export const serviceManager = "klutch-service";

/** XRDs of Crossplane, of any generation when they are read. */
export const definitions: ResourceType = {
  ...compositionType,
  plural: "compositeresourcedefinitions",
  kind: "CompositeResourceDefinition",
};
/** Returns the resource type of a generation's XRDs. */
function definitionsOf({ name }: Generation): ResourceType {
  return name === "legacy" ? definitions : { ...definitions, version: "v2" };
}

/** Connects with the person's kubeconfig and flags. Sends nothing yet. */
export async function connectControlPlane(options: CommonOptions): Promise<ControlPlane> {
  const config = await loadKubeconfig(options.connection);
  const client = createKubeClient(config, {
    userAgent: serviceManager,
    requestTimeoutMs: options.requestTimeoutMs,
  });
  return { side: "control plane", client, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** A manifest and the resource that it is applied as. */
export interface Planned {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

/** Lists the objects to apply, in this order: the definition, the Compositions, the backend's rights, the template. */
export function plannedOf(
  { xrd, compositions, template }: ServiceManifests,
  generation: Generation,
): readonly Planned[] {
  return [
    { type: definitionsOf(generation), object: xrd },
    ...compositions.map((object) => ({ type: compositionType, object })),
    { type: clusterRoles, object: backendRights(xrd) },
    { type: apiServiceExportTemplates, object: template },
  ];
}

/** Lets the backend give app clusters rights on the claims, and write on them why Crossplane cannot make their composites. */
function backendRights(xrd: ServiceManifests["xrd"]): Role {
  const names = textAt(xrd, "spec", "claimNames", "plural") ?? textAt(xrd, "spec", "names", "plural");
  const [group, resource] = [textAt(xrd, "spec", "group") ?? "", names ?? ""];
  const offers = offerRules([{ spec: { APIServiceSelector: { group, resource } } }]);
  const type = textAt(xrd, "metadata", "labels", serviceTypeLabel) ?? "";
  const labels = { [serviceTypeLabel]: type, [aggregateToBackendLabel]: "true" };
  return {
    apiVersion: apiVersionOf(clusterRoles),
    kind: clusterRoles.kind,
    metadata: { name: `klutch-backend-claims-${resource}.${group}`, labels },
    rules: [...backendClaimRules([xrd]), ...offers],
  };
}

/** Throws `CliError` when something of these names is there that this command did not write for the same type. */
export async function refuseForeign(
  { client }: ControlPlane,
  planned: readonly Planned[],
  service: string,
  signal: AbortSignal,
): Promise<void> {
  for (const { type, object } of planned) {
    const { name = "", namespace } = object.metadata;
    const found = await client.find<DynamicObject>(type, { name, namespace }, { signal });
    const reason = found === undefined ? undefined : foreignReason(found, service);
    if (reason !== undefined)
      throw new CliError("Conflict", `${type.kind} ${name} ${reason}. ${nothingChanged}`);
  }
}

/** Returns why an object must not be touched, or undefined for an object of the service. */
export function foreignReason({ metadata }: DynamicObject, service: string): string | undefined {
  const revision = recordsAt(metadata, "ownerReferences").find(
    ({ kind }) => kind === "ConfigurationRevision",
  );
  if (revision !== undefined)
    return `belongs to the ConfigurationRevision ${String(revision["name"])}, which would undo every change; give the service another type and kind`;
  const type = metadata.labels?.[serviceTypeLabel];
  return type === service
    ? undefined
    : `is there already and was not made from a table of the type ${service}; delete it first, or give the service another type and kind`;
}

/** Turns the error of a cluster that lacks a kind into one that names the missing part. */
export function missingPart(error: unknown, { kind, group }: ResourceType): unknown {
  if (!isNotFound(error)) return error;
  const part = group.includes("crossplane") ? "Crossplane" : "Klutch (deploy/crds)";
  return new CliError(
    "Manifest",
    `The cluster does not know the kind ${kind}: ${part} is not installed there.`,
    {
      cause: error,
    },
  );
}
