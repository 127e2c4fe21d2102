/**
 * A provider that means harm. It may do with everything of its own what it likes: exports, mappings, Secrets, objects of bound kinds,
 * statuses, events; and it does not even answer with what it keeps. One random deed at a time.
 */
import {
  apiServiceExports,
  apiServiceNamespaces,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  kubeconfigKey,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import {
  type DynamicObject,
  events,
  namespaces,
  recordAt,
  type ResourceType,
  secrets,
  textAt,
} from "@klutch/kube-core";
import { type KubeClient, type Random } from "@klutch/kube";
import type { ApiServerModel } from "@klutch/kube-testing";
import type { Distort } from "./agent.ts";
import { databases, simulatedApis, zones } from "./apis.ts";
import { lieAboutWork } from "./hostile-statuses.ts";
import { objectsOf } from "./snapshot.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";

/** A namespace of each app cluster with things of its own, in which nobody makes a claim. */
export const lonelyNamespace = "lonely";
/** Namespaces of an app cluster in which the provider has no business. */
export const forbiddenNamespaces: readonly string[] = [
  "kube-system",
  consumerNamespace,
  "klutch-system",
  lonelyNamespace,
];

/** What the provider works with. */
export interface HostileWorld {
  readonly client: KubeClient;
  readonly provider: ApiServerModel;
  readonly tenants: readonly SimulatedTenant[];
  readonly random: Random;
  /** Whether exports are changed, too. */
  readonly withExports: boolean;
}

/** Keys and values that would do something somewhere. */
const keys = [
  "pod-security.kubernetes.io/enforce",
  "kubernetes.io/service-account.name",
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/name",
  "argocd.argoproj.io/instance",
  "meta.helm.sh/release-name",
  "klutch.anynines.com/bound",
  "klutch.anynines.com/adopted",
  "klutch.anynines.com/resource-owner",
  "klutch.anynines.com/claimed-from",
  "klutch.anynines.com/cluster-namespace",
  "klutch.anynines.com/consumer-name",
  "team",
];
const secretTypes = [
  "Opaque",
  "bootstrap.kubernetes.io/token",
  "kubernetes.io/service-account-token",
  "helm.sh/release.v1",
  "example.org/odd",
  "kubernetes.io/tls",
];
const secretNames = [
  "planted",
  "own",
  "a-creds",
  kubeconfigKey,
  "bootstrap-token-abcdef",
  "sh.helm.release.v1.x.v1",
];
const values: readonly unknown[] = [
  null,
  "",
  "true",
  "Provider",
  "Consumer",
  "x".repeat(5_000),
  7,
  -1,
  [],
  {},
  "\u001b[2J",
];

/** Does one harmful thing; says what. What the server refuses throws. */
export async function doHarm(world: HostileWorld): Promise<string> {
  const deeds = [
    map,
    answer,
    answer,
    plantSecret,
    plantSecret,
    changeSecret,
    flood,
    plantObject,
    plantObject,
  ];
  const others = [
    changeObject,
    changeObject,
    changeObject,
    lieAboutWork,
    lieAboutWork,
    remove,
    changeClusterBinding,
    warn,
  ];
  const exports = world.withExports ? [changeExport] : [];
  return pick(world, [...deeds, ...others, ...exports])(world);
}

/** What the provider answers with instead of the objects that it keeps. */
export function lieAbout(random: Random): Distort {
  return (type, object) => {
    if (type.plural !== secrets.plural || random() < 0.5) return object;
    const kind = ["", "Widget", "ClusterRoleBinding"][Math.floor(random() * 3)] ?? "";
    return { ...object, kind, apiVersion: kind === "" ? "" : object.apiVersion };
  };
}

function pick<T>({ random }: HostileWorld, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

async function map(world: HostileWorld): Promise<string> {
  const { namespace } = pick(world, world.tenants);
  const name = pick(world, [...forbiddenNamespaces, ...workNamespaces, "nowhere", "default"]);
  await world.client.create<DynamicObject>(apiServiceNamespaces, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: apiServiceNamespaces.kind,
    metadata: { namespace, name },
    spec: {},
  });
  return `maps ${namespace}/${name}`;
}

async function answer(world: HostileWorld): Promise<string> {
  const mapping = pick(world, objectsOf(world.provider, apiServiceNamespaces));
  const { namespace = "", name = "" } = mapping.metadata;
  const all = objectsOf(world.provider, namespaces).map(({ metadata }) => metadata.name ?? "");
  const wrong = ["", "../secrets", "Mirror", "x".repeat(64)];
  const lie = pick(world, [...all, ...all, ...wrong, ...values]);
  // Half of the strange names are proven, as far as the provider can prove anything.
  if (typeof lie === "string" && !all.includes(lie) && world.random() < 0.5)
    return makeMirror(world, namespace, name);
  await world.client.mergePatch(
    apiServiceNamespaces,
    { namespace, name },
    { status: { namespace: lie } },
    { subresource: "status" },
  );
  return `answers ${namespace}/${name} with ${JSON.stringify(lie).slice(0, 80)}`;
}

async function makeMirror(world: HostileWorld, namespace: string, name: string): Promise<string> {
  const mirror = `mirror-${Math.floor(world.random() * 1_000_000)}`;
  const annotations = { [serviceNamespaceAnnotation]: `${namespace}/${name}` };
  const metadata = { name: mirror, annotations };
  await world.client.create<DynamicObject>(namespaces, { apiVersion: "v1", kind: "Namespace", metadata });
  const status = { namespace: mirror };
  await world.client.mergePatch(
    apiServiceNamespaces,
    { namespace, name },
    { status },
    { subresource: "status" },
  );
  return `answers ${namespace}/${name} with ${mirror}, which says that it is its own`;
}

/** Somewhere that a mapping names, or the tenant's own namespace. */
function somewhere(world: HostileWorld): string {
  const named = objectsOf(world.provider, apiServiceNamespaces).flatMap(({ status }) => {
    const namespace = textAt(status, "namespace");
    return namespace === undefined ? [] : [namespace];
  });
  return pick(world, [...named, ...named, pick(world, world.tenants).namespace]);
}

function entries(world: HostileWorld): Record<string, string> {
  const uids = world.tenants.map(({ namespace }) => namespace);
  const chosen = keys.filter(() => world.random() < 0.3);
  return Object.fromEntries(
    chosen.map((key) => [key, pick(world, ["true", "Provider", "Consumer", "red", ...uids])]),
  );
}

async function plantSecret(world: HostileWorld, name: string = pick(world, secretNames)): Promise<string> {
  const namespace = somewhere(world);
  const metadata = { namespace, name, labels: entries(world), annotations: entries(world) };
  const type = pick(world, secretTypes);
  const data = { planted: Buffer.from("planted").toString("base64") };
  await world.client.create<DynamicObject>(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    type,
    data,
  });
  return `plants Secret ${namespace}/${name} of type ${type}`;
}

async function flood(world: HostileWorld): Promise<string> {
  for (let index = 0; index < 30; index++)
    await plantSecret(world, `flood-${Math.floor(world.random() * 100_000)}`).catch(() => undefined);
  return "plants many Secrets";
}

async function changeSecret(world: HostileWorld): Promise<string> {
  const kept = objectsOf(world.provider, secrets).filter(({ metadata }) => metadata.name !== kubeconfigKey);
  return change(world, secrets, pick(world, kept), ["data", "type", "immutable", "stringData"]);
}

async function changeObject(world: HostileWorld): Promise<string> {
  const { type } = pick(world, simulatedApis);
  return change(world, type, pick(world, objectsOf(world.provider, type)), [
    "spec",
    "spec",
    "status",
    "extra",
  ]);
}

async function changeExport(world: HostileWorld): Promise<string> {
  const exported = pick(world, objectsOf(world.provider, apiServiceExports));
  const { namespace, name = "" } = exported.metadata;
  const claims = [
    { group: "", resource: "configmaps", version: "v1" },
    { resource: "secrets", version: "v1" },
  ];
  const spec = pick<object>(world, [
    { group: pick(world, ["", "rbac.authorization.k8s.io", "apps"]) },
    {
      names: pick(world, [
        { plural: "secrets", kind: "Secret" },
        { plural: "clusterroles", kind: "ClusterRole" },
      ]),
    },
    { group: "", names: { plural: "secrets", kind: "Secret" }, scope: "Namespaced" },
    { scope: pick(world, ["Cluster", "Namespaced"]) },
    { informerScope: pick(world, ["Cluster", "Namespaced"]) },
    { clusterScopedIsolation: pick(world, ["None", "Namespaced", "Prefixed"]) },
    { permissionClaims: claims },
    { versions: [] },
  ]);
  if (world.random() < 0.3) return change(world, apiServiceExports, exported, ["spec", "status"]);
  await world.client.mergePatch(apiServiceExports, { namespace, name }, { spec });
  return `changes the export ${namespace}/${name}: ${JSON.stringify(spec)}`;
}

/** Replaces one random thing of the object, or one of its labels, annotations or finalizers. */
async function change(
  world: HostileWorld,
  type: ResourceType,
  object: {
    readonly metadata: { readonly namespace?: string | undefined; readonly name?: string | undefined };
  } & Readonly<Record<string, unknown>>,
  fields: readonly string[],
): Promise<string> {
  const { namespace, name = "" } = object.metadata;
  const ref = namespace === undefined ? { name } : { namespace, name };
  const field = pick(world, [...fields, "labels", "annotations", "finalizers"]);
  const inside = Object.keys(recordAt(object, field));
  const value =
    inside.length > 0 && world.random() < 0.8
      ? { [pick(world, inside)]: pick(world, values) }
      : pick(world, values);
  const patch =
    field === "labels" || field === "annotations"
      ? { metadata: { [field]: { ...entries(world), [pick(world, keys)]: null } } }
      : field === "finalizers"
        ? { metadata: { finalizers: world.random() < 0.5 ? null : ["hostile.example/hold"] } }
        : { [field]: value };
  await world.client.mergePatch(type, ref, patch, field === "status" ? { subresource: "status" } : {});
  return `changes ${field} of ${type.plural} ${namespace ?? ""}/${name}: ${JSON.stringify(patch).slice(0, 160)}`;
}

async function plantObject(world: HostileWorld): Promise<string> {
  const api = pick(world, simulatedApis);
  const tenant = pick(world, world.tenants).namespace;
  const name = pick(world, ["a", "b", "c", "planted"]);
  const place =
    api.type === zones.type ? { name: `${tenant}-${name}` } : { namespace: somewhere(world), name };
  const marks = api.type === zones.type ? { "klutch.anynines.com/cluster-namespace": tenant } : {};
  await world.client.create<DynamicObject>(api.type, {
    apiVersion: `${api.type.group}/${api.type.version}`,
    kind: api.type.kind,
    metadata: { ...place, labels: entries(world), annotations: { ...entries(world), ...marks } },
    spec: { size: 1, note: "planted" },
  });
  return `plants ${api.type.plural} ${JSON.stringify(place)}`;
}

async function remove(world: HostileWorld): Promise<string> {
  const type = pick(world, [secrets, databases.type, zones.type, apiServiceNamespaces]);
  const kept = objectsOf(world.provider, type).filter(({ metadata }) => metadata.name !== kubeconfigKey);
  const { namespace, name = "" } = pick(world, kept).metadata;
  await world.client.delete(type, namespace === undefined ? { name } : { namespace, name });
  return `deletes ${type.plural} ${namespace ?? ""}/${name}`;
}

async function changeClusterBinding(world: HostileWorld): Promise<string> {
  const { namespace } = pick(world, world.tenants);
  const ref = { namespace, name: clusterBindingName };
  const field = pick(world, [
    "providerPrettyName",
    "konnectorVersion",
    "lastHeartbeatTime",
    "conditions",
    "heartbeatInterval",
  ]);
  const value = pick(world, values);
  const isSpec = field === "providerPrettyName";
  await world.client.mergePatch(
    clusterBindings,
    ref,
    isSpec ? { spec: { [field]: value } } : { status: { [field]: value } },
    isSpec ? {} : { subresource: "status" },
  );
  return `changes ${field} of the ClusterBinding of ${namespace}`;
}

async function warn(world: HostileWorld): Promise<string> {
  const namespace = somewhere(world);
  const about = {
    apiVersion: "sim.klutch.example/v1",
    kind: "Database",
    namespace,
    name: pick(world, ["a", "b", "c"]),
  };
  await world.client.create<DynamicObject>(events, {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: `e${Math.floor(world.random() * 1_000_000)}` },
    involvedObject: { ...about, ...(world.random() < 0.3 ? { name: pick(world, values) } : {}) },
    type: "Warning",
    reason: pick(world, ["Odd", "\u001b[31m", "x".repeat(500)]),
    message: pick(world, ["odd", "two\nlines\u001b[2J", "x".repeat(100_000), 7]),
  });
  return `warns in ${namespace}`;
}
