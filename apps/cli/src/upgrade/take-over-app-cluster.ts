/** Finds the objects that a konnector in Go up to version 1.5 left in an app cluster, and says how each is taken over. */
import { apiServiceBindingCrd, apiServiceBindings, syncerFinalizer } from "@klutch/api";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  isOwnerOfKind,
  listAt,
  recordsAt,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import { resourceTypeOf } from "@klutch/kube";
import type { CrdPair } from "./crds.ts";
import { isOfGo, type Program } from "./programs.ts";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings, type Inherited, type Obstacle } from "./report.ts";

/** Named in the command's text, so that people find it. */
export const acceptFlag = "--accept-take-over";

/** An API of the app cluster that a binding brought. */
export interface BoundApi {
  readonly name: string;
  readonly type: ResourceType | undefined;
  /** UIDs of the bindings that own its CRD. */
  readonly owners: readonly string[];
}

/** The CRDs that have the names of bindings. */
export async function readBoundApis(
  reader: ClusterReader,
  bindings: readonly DynamicObject[],
): Promise<readonly BoundApi[]> {
  const apis: BoundApi[] = [];
  for (const name of new Set(bindings.map(({ metadata }) => metadata.name ?? ""))) {
    const crd = await reader.find(customResourceDefinitions, { name });
    if (crd === undefined) continue;
    const owners = (crd.metadata.ownerReferences ?? []).filter((owner) =>
      isOwnerOfKind(owner, apiServiceBindings),
    );
    apis.push({ name, type: resourceTypeOf(crd), owners: owners.map(({ uid }) => uid) });
  }
  return apis;
}

/** Objects that were read from the app cluster. */
export interface AppCluster {
  readonly pairs: readonly CrdPair[];
  readonly bindings: readonly DynamicObject[];
  readonly apis: readonly BoundApi[];
  readonly programs: readonly Program[];
}

/** Returns findings if bindings are cluster-scoped or the konnector is in Go. `accepted`: the user agreed to the take-over. */
export async function lookForGoKonnector(
  reader: ClusterReader,
  { pairs, bindings, apis, programs }: AppCluster,
  accepted: boolean,
): Promise<Findings> {
  const crd = pairs.find(({ name }) => name === apiServiceBindingCrd.metadata.name)?.present;
  const isClusterScoped = textAt(crd?.spec, "scope") === "Cluster";
  const konnectors = programs.filter((program) => program.part === "konnector" && isOfGo(program));
  if (!isClusterScoped && konnectors.length === 0) return findings({});
  const inherited: Inherited[] = konnectors.map(({ key, image }) => ({
    object: `Deployment ${key}`,
    outcome: "taken over",
    what: `${image} is replaced; until the new konnector holds the lease, the old one works`,
  }));
  const against: Obstacle[] = [];
  if (isClusterScoped) {
    inherited.push(...bindings.map((binding) => bindingOf(binding)), scopeOfCrd);
    if (!accepted) against.push(scopeObstacle(bindings.length));
  }
  inherited.push(...(await boundObjects(reader, apis)), ...(await unlimitedRole(reader)));
  for (const api of apis) against.push(...foreignOwner(api, bindings));
  return findings({ inherited, against });
}

function bindingOf({ metadata, spec }: DynamicObject): Inherited {
  const secret = `${textAt(spec, "kubeconfigSecretRef", "namespace") ?? "?"}/${textAt(spec, "kubeconfigSecretRef", "name") ?? "?"}`;
  const accepted = recordsAt(spec, "permissionClaims").filter((claim) => claim["state"] === "Accepted");
  return {
    object: `APIServiceBinding ${metadata.name ?? ""}`,
    outcome: "taken over",
    what: `as it is, with its Secret ${secret} and ${accepted.length} accepted permission claims; it gets a finalizer and annotations, which klutch hand-back takes away again`,
  };
}

const scopeOfCrd: Inherited = {
  object: `CRD ${apiServiceBindingCrd.metadata.name}`,
  outcome: "left",
  what: "it stays cluster-scoped, which cannot be changed; kubectl bind cannot add bindings there until the CRD is made again",
};

function scopeObstacle(count: number): Obstacle {
  return {
    object: `CRD ${apiServiceBindingCrd.metadata.name}`,
    field: "spec.scope",
    value: "Cluster",
    expected: `Namespaced, or ${acceptFlag}: the ${count} bindings of an installation in Go would be taken over as they are`,
  };
}

/** The claims, which are the point of it all. */
async function boundObjects(reader: ClusterReader, apis: readonly BoundApi[]): Promise<Inherited[]> {
  const inherited: Inherited[] = [];
  for (const { name, type } of apis) {
    if (type === undefined) continue;
    const objects = await reader.list(type, { metadataOnly: true });
    const synced = objects.filter(({ metadata }) => metadata.finalizers?.includes(syncerFinalizer) === true);
    inherited.push({
      object: `objects of ${name}`,
      outcome: "taken over",
      what: `${synced.length} of ${objects.length} are synced (finalizer ${syncerFinalizer}): their names, marks and counterparts stay, and equal objects are not written`,
    });
  }
  return inherited;
}

/** The konnector in Go may do everything. */
async function unlimitedRole(reader: ClusterReader): Promise<readonly Inherited[]> {
  const name = "klutch-bind-konnector";
  const role = await reader.find(clusterRoles, { name });
  const isUnlimited = recordsAt(role, "rules").some((rule) => listAt(rule, "verbs").includes("*"));
  return isUnlimited
    ? [
        {
          object: `ClusterRole ${name}`,
          outcome: "taken over",
          what: "it allows everything; it shrinks to what the konnector needs, and each bound API gets a role of its own",
        },
      ]
    : [];
}

function foreignOwner({ name, owners }: BoundApi, bindings: readonly DynamicObject[]): readonly Obstacle[] {
  const binding = bindings.find(({ metadata }) => metadata.name === name);
  const isOwned = owners.length === 0 || owners.includes(binding?.metadata.uid ?? "");
  if (isOwned) return [];
  return [
    {
      object: `CRD ${name}`,
      field: "metadata.ownerReferences[].uid",
      value: owners.join(", "),
      expected: `${binding?.metadata.uid ?? "that of its binding"}: it belongs to an earlier binding, which the new konnector takes it from; remove the reference to say that this is right`,
    },
  ];
}
