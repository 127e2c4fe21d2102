/**
 * An app cluster that means harm: its admins may write everything in their own cluster, and with the agent's credentials what a tenant's
 * role allows on the provider, which is all in their own namespaces there. One random deed at a time.
 */
import {
  adoptedAnnotation,
  apiServiceBindings,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceNamespaces,
  boundAnnotation,
  claimedFromLabel,
  clusterBindingName,
  clusterBindings,
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  kubeconfigKey,
  restoredAnnotation,
  serviceNamespaceAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  namespaces,
  type ObjectMeta,
  ownerReference,
  recordAt,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { type KubeClient, type Random } from "@klutch/kube";
import type { ApiServerModel } from "@klutch/kube-testing";
import { databases, objectOf, simulatedApis, zones } from "./apis.ts";
import { serviceNamespaceOf } from "./control-plane.ts";
import { createObject, deleteObject, patchObject, pick, weighted } from "./deeds.ts";
import { objectsOf } from "./snapshot.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";

export interface LyingTenant {
  readonly liar: SimulatedTenant;
  /** The tenant whose things it would like to have. */
  readonly victim: SimulatedTenant;
  /** A client of the provider; used only where a tenant's role reaches. */
  readonly client: KubeClient;
  readonly provider: ApiServerModel;
  readonly random: Random;
}

export type Deed = (fixture: LyingTenant) => Promise<string>;

/** Does one harmful thing and describes it. Throws when a server refuses it. */
export async function doLie(fixture: LyingTenant): Promise<string> {
  return pick(fixture.random, deeds)(fixture);
}

/** Values that point at the other tenant, or break what reads them. */
function lies({ victim, liar }: LyingTenant): readonly string[] {
  const both = [victim, liar];
  const mirrors = workNamespaces.flatMap((one) => both.map((tenant) => serviceNamespaceOf(tenant, one)));
  const words = ["kube-system", "a", "true", "false", ""];
  return [victim.namespace, `${victim.namespace}/app`, ...mirrors, liar.namespace, ...words];
}

const marks = [
  adoptedAnnotation,
  boundAnnotation,
  claimedFromLabel,
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  restoredAnnotation,
  serviceNamespaceAnnotation,
  "klutch.anynines.com/provider-uid",
  "klutch.anynines.com/resource-owner",
  "kubectl.kubernetes.io/last-applied-configuration",
  "team",
];
const long = "x".repeat(3_000);
const values: readonly unknown[] = [null, "", "true", 7, -1, [], {}, long, "../secrets", "\u001b[2J"];

/** Returns one change of an object's metadata. */
function metadataLie(fixture: LyingTenant): object {
  const { random, liar, victim, provider } = fixture;
  const lie = (): string | null => (random() < 0.2 ? null : pick(random, lies(fixture)));
  const entries = (): Record<string, string | null> =>
    Object.fromEntries(marks.filter(() => random() < 0.3).map((key) => [key, lie()]));
  const owner = pick(random, [victim.namespace, liar.namespace]);
  const uidOf = (name: string): string =>
    objectsOf(provider, namespaces).find(({ metadata }) => metadata.name === name)?.metadata.uid ?? "none";
  const hold = "liar.example/hold";
  return pick<object>(random, [
    { annotations: entries() },
    { annotations: entries(), labels: entries() },
    { annotations: { [clusterNamespaceAnnotation]: victim.namespace, [consumerNameAnnotation]: "a" } },
    { annotations: { [boundAnnotation]: pick(random, ["false", null, "true"]) } },
    { finalizers: pick(random, [null, [syncerFinalizer], [hold], [syncerFinalizer, hold]]) },
    { ownerReferences: [ownerReference(namespaces, { name: owner, uid: uidOf(owner) })] },
    { managedFields: [{}] },
    { labels: { [claimedFromLabel]: uidOf(victim.namespace) } },
  ]);
}

/** Chooses an object, and draws nothing where none exists, so that a seed keeps its story. */
function existing(random: Random, objects: readonly DynamicObject[]): DynamicObject {
  return pick(objects.length === 0 ? () => 0 : random, objects);
}

/** Replaces one random thing of an object: its metadata, or one field or a part of one. */
async function change(
  fixture: LyingTenant,
  client: KubeClient,
  type: ResourceType,
  object: DynamicObject,
  fields: readonly string[],
): Promise<string> {
  const { random } = fixture;
  const field = pick(random, ["metadata", ...fields]);
  const inside = Object.keys(recordAt(object, field));
  const value = pick(random, [...values, ...lies(fixture)]);
  const part = inside.length > 0 && random() < 0.8 ? { [pick(random, inside)]: value } : value;
  const patch = field === "metadata" ? { metadata: metadataLie(fixture) } : { [field]: part };
  const place = await patchObject(client, type, object, patch);
  return `changes ${place} on ${client.clusterName}: ${JSON.stringify(patch).slice(0, 200)}`;
}

const changeClaim: Deed = (fixture) => {
  const { liar, random } = fixture;
  const { type } = pick(random, simulatedApis);
  const claim = existing(random, objectsOf(liar.consumer, type));
  return change(fixture, liar.direct, type, claim, ["spec", "status"]);
};

const makeClaim: Deed = async (fixture) => {
  const { victim, liar, random } = fixture;
  const api = pick(random, simulatedApis);
  const name = pick(random, ["a", "b", "c", `${victim.namespace}-a`, "a-creds", "kubeconfig", "liar"]);
  const namespace = pick(random, [...workNamespaces, "kube-system", victim.namespace]);
  const claim = objectOf(api, namespace, name, { size: 666, note: "by the liar" });
  const metadata = { ...claim.metadata, ...metadataLie(fixture) };
  await liar.direct.create(api.type, { ...claim, metadata });
  return `claims ${api.type.plural} ${namespace}/${name}`;
};

const changeOnConsumer: Deed = (fixture) => {
  const { liar, random } = fixture;
  const type = pick(random, [secrets, secrets, apiServiceBindings, customResourceDefinitions]);
  const all = objectsOf(liar.consumer, type).filter(({ metadata }) => metadata.name !== kubeconfigKey);
  const fields = type === secrets ? ["data", "type"] : ["spec", "status"];
  return change(fixture, liar.direct, type, existing(random, all), fields);
};

const makeNamespace: Deed = async (fixture) => {
  const { victim, liar, random } = fixture;
  const name = pick(random, [victim.namespace, serviceNamespaceOf(victim, "app"), "liars", "kube-public"]);
  await createObject(liar.direct, namespaces, { name, ...metadataLie(fixture) });
  return `makes namespace ${name}`;
};

/** Answers a namespace mapping in the backend's place. */
const answerItself: Deed = async (fixture) => {
  const { liar, client, random, provider } = fixture;
  const name = pick(random, [...workNamespaces, "kube-system", "liars", fixture.victim.namespace]);
  const ref = { namespace: liar.namespace, name };
  const isThere = objectsOf(provider, apiServiceNamespaces).some(
    ({ metadata }) => metadata.namespace === liar.namespace && metadata.name === name,
  );
  const metadata = (): ObjectMeta => ({ ...ref, ...metadataLie(fixture) });
  if (!isThere) await createObject(client, apiServiceNamespaces, metadata(), { spec: {} });
  const status = { namespace: pick(random, [...lies(fixture), ...values]) };
  await patchObject(client, apiServiceNamespaces, { metadata: ref }, { status });
  return `answers itself for ${name}: ${JSON.stringify(status).slice(0, 80)}`;
};

const request: Deed = async ({ liar, client, random }) => {
  const name = `r${Math.floor(random() * 5)}`;
  const wanted = [
    { group: "", resource: "secrets" },
    { group: zones.type.group, resource: "zones" },
  ];
  const spec = { resources: [pick(random, wanted)], parameters: {} };
  await createObject(client, apiServiceExportRequests, { namespace: liar.namespace, name }, { spec });
  return `requests ${name}`;
};

const changeAccount: Deed = (fixture) =>
  changeReached(fixture, clusterBindings, ["status"], ({ name }) => name === clusterBindingName);

const changeExportStatus: Deed = (fixture) => changeReached(fixture, apiServiceExports, ["status"]);

const changeUpstream: Deed = (fixture) =>
  changeReached(fixture, pick(fixture.random, simulatedApis).type, ["spec", "status"]);

/** Changes any object of the provider that the tenant's role reaches. */
function changeReached(
  fixture: LyingTenant,
  type: ResourceType,
  fields: readonly string[],
  isMeant: (metadata: ObjectMeta) => boolean = () => true,
): Promise<string> {
  const meant = reached(fixture, type).filter(({ metadata }) => isMeant(metadata));
  return change(fixture, fixture.client, type, existing(fixture.random, meant), fields);
}

/** The objects of the provider that the tenant's role reaches: Klutch's in its own namespace, others in its service namespaces. */
function reached({ liar, provider }: LyingTenant, type: ResourceType): readonly DynamicObject[] {
  const isKlutch = type.group === apiServiceExports.group;
  return objectsOf(provider, type).filter(({ metadata: { namespace, name = "" } }) =>
    isKlutch ? namespace === liar.namespace : (namespace ?? name).startsWith(`${liar.namespace}-`),
  );
}

const plantUpstream: Deed = async ({ liar, victim, client, random }) => {
  const name = pick(random, ["a", "b", "c", "planted", "a-creds"]);
  const namespace = serviceNamespaceOf(liar, pick(random, workNamespaces));
  const claim = objectOf(databases, namespace, name, { size: 1, note: "by the liar" });
  const annotations = {
    [clusterNamespaceAnnotation]: victim.namespace,
    [boundAnnotation]: pick(random, ["true", "false"]),
    [consumerNameAnnotation]: "a",
  };
  await client.create(databases.type, { ...claim, metadata: { namespace, name, annotations } });
  return `plants databases ${namespace}/${name}`;
};

const removeOnProvider: Deed = async (fixture) => {
  const type = pick(fixture.random, [databases.type, zones.type, apiServiceNamespaces]);
  const removed = await deleteObject(fixture.client, type, existing(fixture.random, reached(fixture, type)));
  return `${removed} on the provider`;
};

/** The deeds that need only bound kinds, and how often each is done. */
export const claimLies: readonly (readonly [Deed, number])[] = [
  [changeClaim, 3],
  [makeClaim, 2],
];

/** Lists the deeds, and how often each is done. */
const deeds = weighted<Deed>([
  ...claimLies,
  [changeOnConsumer, 2],
  [makeNamespace, 1],
  [answerItself, 2],
  [request, 1],
  [changeAccount, 1],
  [changeExportStatus, 1],
  [changeUpstream, 2],
  [plantUpstream, 1],
  [removeOnProvider, 1],
]);
