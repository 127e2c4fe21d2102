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
  refOfObject,
  type ResourceType,
  secrets,
  textAt,
} from "@klutch/kube-core";
import type { KubeClient, Random } from "@klutch/kube";
import { type ApiServerModel, namespaceObject, objectOfType } from "@klutch/kube-testing";
import type { Distort } from "./agent.ts";
import { databases, simulatedApis, zones } from "./apis.ts";
import { createObject, deleteObject, patchObject, pick, weighted } from "./deeds.ts";
import { lieAboutWork } from "./hostile-statuses.ts";
import { objectsOf } from "./snapshot.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";

/** A namespace of each app cluster with things of its own and no claims. */
export const lonelyNamespace = "lonely";
/** Namespaces of an app cluster in which the provider has no business. */
export const forbiddenNamespaces: readonly string[] = [
  "kube-system",
  consumerNamespace,
  "klutch-system",
  lonelyNamespace,
];

/** The clients and clusters that the provider works with. */
export interface HostileFixture {
  readonly client: KubeClient;
  readonly provider: ApiServerModel;
  readonly tenants: readonly SimulatedTenant[];
  readonly random: Random;
  /** Changes exports, too. */
  readonly withExports: boolean;
}

type Deed = (fixture: HostileFixture) => Promise<string>;

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
const long = "x".repeat(5_000);
const values: readonly unknown[] = [
  null,
  "",
  "true",
  "Provider",
  "Consumer",
  long,
  7,
  -1,
  [],
  {},
  "\u001b[2J",
  nested(150),
  nested(4_000),
];

/** Returns lists within each other. */
function nested(levels: number): unknown {
  return Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 7);
}

/** Does one harmful thing and describes it. Throws when the server refuses it. */
export async function doHarm(fixture: HostileFixture): Promise<string> {
  return pick(fixture.random, fixture.withExports ? [...deeds, changeExport] : deeds)(fixture);
}

/** Replaces some of the objects in the provider's answers. */
export function lieAbout(random: Random): Distort {
  return (type, object) => {
    if (type.plural !== secrets.plural || random() < 0.5) return object;
    const kind = pick(random, ["", "Widget", "ClusterRoleBinding"]);
    return { ...object, kind, apiVersion: kind === "" ? "" : object.apiVersion };
  };
}

/** Some lists never come to an end. */
export function endlessNow(random: Random): () => boolean {
  return () => random() < 0.05;
}

const map: Deed = async ({ client, random, tenants }) => {
  const { namespace } = pick(random, tenants);
  const name = pick(random, [...forbiddenNamespaces, ...workNamespaces, "nowhere", "default"]);
  await createObject(client, apiServiceNamespaces, { namespace, name }, { spec: {} });
  return `maps ${namespace}/${name}`;
};

const answer: Deed = async ({ client, provider, random }) => {
  const mapping = pick(random, objectsOf(provider, apiServiceNamespaces));
  const { namespace = "", name = "" } = mapping.metadata;
  const all = objectsOf(provider, namespaces).map(({ metadata }) => metadata.name ?? "");
  const wrong = ["", "../secrets", "Mirror", "x".repeat(64)];
  const lie = pick(random, [...all, ...all, ...wrong, ...values]);
  const say = (text: unknown): Promise<string> =>
    patchObject(client, apiServiceNamespaces, mapping, { status: { namespace: text } });
  // Half of the strange names are proven, as far as the provider can prove anything.
  if (typeof lie === "string" && !all.includes(lie) && random() < 0.5) {
    const mirror = `mirror-${Math.floor(random() * 1_000_000)}`;
    const annotations = { [serviceNamespaceAnnotation]: `${namespace}/${name}` };
    await client.create(namespaces, namespaceObject(mirror, annotations));
    await say(mirror);
    return `answers ${namespace}/${name} with ${mirror}, which says that it is its own`;
  }
  await say(lie);
  return `answers ${namespace}/${name} with ${JSON.stringify(lie).slice(0, 80)}`;
};

/** Chooses somewhere that a mapping names, or a tenant's own namespace. */
function somewhere({ provider, random, tenants }: HostileFixture): string {
  const mappings = objectsOf(provider, apiServiceNamespaces);
  const named = mappings.flatMap(({ status }) => textAt(status, "namespace") ?? []);
  return pick(random, [...named, ...named, pick(random, tenants).namespace]);
}

function entries({ random, tenants }: HostileFixture): Record<string, string> {
  const uids = tenants.map(({ namespace }) => namespace);
  const chosen = keys.filter(() => random() < 0.3);
  return Object.fromEntries(
    chosen.map((key) => [key, pick(random, ["true", "Provider", "Consumer", "red", ...uids])]),
  );
}

async function plantSecret(
  fixture: HostileFixture,
  name: string = pick(fixture.random, secretNames),
): Promise<string> {
  const namespace = somewhere(fixture);
  const metadata = { namespace, name, labels: entries(fixture), annotations: entries(fixture) };
  const type = pick(fixture.random, secretTypes);
  const data = { planted: Buffer.from("planted").toString("base64") };
  await createObject(fixture.client, secrets, metadata, { type, data });
  return `plants Secret ${namespace}/${name} of type ${type}`;
}

const plantAnySecret: Deed = (fixture) => plantSecret(fixture);

const flood: Deed = async (fixture) => {
  for (let index = 0; index < 30; index++)
    await plantSecret(fixture, `flood-${Math.floor(fixture.random() * 100_000)}`).catch(() => undefined);
  return "plants many Secrets";
};

const changeSecret: Deed = (fixture) => {
  const secret = pick(fixture.random, ownObjects(fixture, secrets));
  return change(fixture, secrets, secret, ["data", "type", "immutable", "stringData"]);
};

const changeObject: Deed = (fixture) => {
  const { type } = pick(fixture.random, simulatedApis);
  const object = pick(fixture.random, objectsOf(fixture.provider, type));
  return change(fixture, type, object, ["spec", "spec", "status", "extra"]);
};

const changeExport: Deed = async (fixture) => {
  const { client, random } = fixture;
  const exported = pick(random, objectsOf(fixture.provider, apiServiceExports));
  const secretClaim = { resource: "secrets", version: "v1" };
  const permissionClaims = [{ group: "", resource: "configmaps", version: "v1" }, secretClaim];
  const names = { plural: "secrets", kind: "Secret" };
  const spec = pick<object>(random, [
    { group: pick(random, ["", "rbac.authorization.k8s.io", "apps"]) },
    { names: pick(random, [names, { plural: "clusterroles", kind: "ClusterRole" }]) },
    { group: "", names, scope: "Namespaced" },
    { scope: pick(random, ["Cluster", "Namespaced"]) },
    { informerScope: pick(random, ["Cluster", "Namespaced"]) },
    { clusterScopedIsolation: pick(random, ["None", "Namespaced", "Prefixed"]) },
    { permissionClaims },
    { versions: [] },
  ]);
  if (random() < 0.3) return change(fixture, apiServiceExports, exported, ["spec", "status"]);
  await patchObject(client, apiServiceExports, exported, { spec });
  const { namespace, name } = refOfObject(exported);
  return `changes the export ${namespace}/${name}: ${JSON.stringify(spec)}`;
};

/** Replaces one random thing of the object, or one of its labels, annotations or finalizers. */
async function change(
  fixture: HostileFixture,
  type: ResourceType,
  object: DynamicObject,
  fields: readonly string[],
): Promise<string> {
  const { client, random } = fixture;
  const field = pick(random, [...fields, "labels", "annotations", "finalizers"]);
  const inside = Object.keys(recordAt(object, field));
  const isPart = inside.length > 0 && random() < 0.8;
  const value = isPart ? { [pick(random, inside)]: pick(random, values) } : pick(random, values);
  const patch =
    field === "labels" || field === "annotations"
      ? { metadata: { [field]: { ...entries(fixture), [pick(random, keys)]: null } } }
      : field === "finalizers"
        ? { metadata: { finalizers: random() < 0.5 ? null : ["hostile.example/hold"] } }
        : { [field]: value };
  const place = await patchObject(client, type, object, patch);
  return `changes ${field} of ${place}: ${JSON.stringify(patch).slice(0, 160)}`;
}

const plantObject: Deed = async (fixture) => {
  const { random } = fixture;
  const { type } = pick(random, simulatedApis);
  const tenant = pick(random, fixture.tenants).namespace;
  const name = pick(random, ["a", "b", "c", "planted"]);
  const place = type.namespaced ? { namespace: somewhere(fixture), name } : { name: `${tenant}-${name}` };
  const marks = type.namespaced ? {} : { "klutch.anynines.com/cluster-namespace": tenant };
  const metadata = { ...place, labels: entries(fixture), annotations: { ...entries(fixture), ...marks } };
  await createObject(fixture.client, type, metadata, { spec: { size: 1, note: "planted" } });
  return `plants ${type.plural} ${JSON.stringify(place)}`;
};

const remove: Deed = (fixture) => {
  const { client, random } = fixture;
  const type = pick(random, [secrets, databases.type, zones.type, apiServiceNamespaces]);
  return deleteObject(client, type, pick(random, ownObjects(fixture, type)));
};

/** The provider's objects without the tenants' kubeconfigs. */
function ownObjects({ provider }: HostileFixture, type: ResourceType): readonly DynamicObject[] {
  return objectsOf(provider, type).filter(({ metadata }) => metadata.name !== kubeconfigKey);
}

const changeClusterBinding: Deed = async ({ client, random, tenants }) => {
  const { namespace } = pick(random, tenants);
  const statusFields = ["konnectorVersion", "lastHeartbeatTime", "conditions", "heartbeatInterval"];
  const field = pick(random, ["providerPrettyName", ...statusFields]);
  const changed = { [field]: pick(random, values) };
  const patch = field === "providerPrettyName" ? { spec: changed } : { status: changed };
  await patchObject(client, clusterBindings, { metadata: { namespace, name: clusterBindingName } }, patch);
  return `changes ${field} of the ClusterBinding of ${namespace}`;
};

const warn: Deed = async (fixture) => {
  const { client, random } = fixture;
  const namespace = somewhere(fixture);
  const { apiVersion, kind } = objectOfType(databases.type, {});
  const about = { apiVersion, kind, namespace, name: pick(random, ["a", "b", "c"]) };
  const metadata = { namespace, name: `e${Math.floor(random() * 1_000_000)}` };
  const event = {
    involvedObject: { ...about, ...(random() < 0.3 ? { name: pick(random, values) } : {}) },
    type: "Warning",
    reason: pick(random, ["Odd", "\u001b[31m", "x".repeat(500)]),
    message: pick(random, ["odd", "two\nlines\u001b[2J", "x".repeat(100_000), 7]),
  };
  await createObject(client, events, metadata, event);
  return `warns in ${namespace}`;
};

/** Lists the deeds, and how often each is done. */
const deeds = weighted<Deed>([
  [map, 1],
  [answer, 2],
  [plantAnySecret, 2],
  [changeSecret, 1],
  [flood, 1],
  [plantObject, 2],
  [changeObject, 3],
  [lieAboutWork, 2],
  [remove, 1],
  [changeClusterBinding, 1],
  [warn, 1],
]);
