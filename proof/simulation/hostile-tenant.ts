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
  restoredAnnotation,
  serviceNamespaceAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  namespaces,
  ownerReference,
  recordAt,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { type KubeClient, type Random } from "@klutch/kube";
import type { ApiServerModel } from "@klutch/kube-testing";
import { databases, objectOf, simulatedApis, zones } from "./apis.ts";
import { serviceNamespaceOf } from "./control-plane.ts";
import { objectsOf } from "./snapshot.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";

/** What the tenant works with. */
export interface LyingTenant {
  readonly liar: SimulatedTenant;
  /** Whose things it would like to have. */
  readonly victim: SimulatedTenant;
  /** Of the provider; used only where a tenant's role reaches. */
  readonly client: KubeClient;
  readonly provider: ApiServerModel;
  readonly random: Random;
}

type Deed = (world: LyingTenant) => Promise<string>;

/** Does one harmful thing; says what. What a server refuses throws. */
export async function doLie(world: LyingTenant): Promise<string> {
  const onConsumer = [
    changeClaim,
    changeClaim,
    changeClaim,
    makeClaim,
    makeClaim,
    changeOnConsumer,
    changeOnConsumer,
    makeNamespace,
  ];
  const onProvider = [
    answerItself,
    answerItself,
    request,
    changeAccount,
    changeExportStatus,
    changeUpstream,
    changeUpstream,
  ];
  return pick(world, [...onConsumer, ...onProvider, plantUpstream, removeOnProvider])(world);
}

function pick<T>({ random }: LyingTenant, list: readonly T[]): T {
  if (list.length === 0) throw new Error("there is nothing to do it to");
  return list[Math.floor(random() * list.length)] as T;
}

/** Values that point at the other tenant, or break what reads them. */
function lies({ victim, liar }: LyingTenant): readonly string[] {
  const mirrors = workNamespaces.flatMap((one) => [
    serviceNamespaceOf(victim, one),
    serviceNamespaceOf(liar, one),
  ]);
  return [
    victim.namespace,
    `${victim.namespace}/app`,
    ...mirrors,
    liar.namespace,
    "kube-system",
    "a",
    "true",
    "false",
    "",
  ];
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
const values: readonly unknown[] = [
  null,
  "",
  "true",
  7,
  -1,
  [],
  {},
  "x".repeat(3_000),
  "../secrets",
  "\u001b[2J",
];

function uidOf(world: LyingTenant, name: string): string {
  return (
    objectsOf(world.provider, namespaces).find(({ metadata }) => metadata.name === name)?.metadata.uid ??
    "none"
  );
}

/** One change of what an object says of itself. */
function metadataLie(world: LyingTenant): object {
  const entries = (): Record<string, string | null> =>
    Object.fromEntries(
      marks
        .filter(() => world.random() < 0.3)
        .map((key) => [key, world.random() < 0.2 ? null : pick(world, lies(world))]),
    );
  const owner = pick(world, [world.victim.namespace, world.liar.namespace]);
  return pick<object>(world, [
    { annotations: entries() },
    { annotations: entries(), labels: entries() },
    { annotations: { [clusterNamespaceAnnotation]: world.victim.namespace, [consumerNameAnnotation]: "a" } },
    { annotations: { [boundAnnotation]: pick(world, ["false", null, "true"]) } },
    {
      finalizers: pick(world, [
        null,
        [syncerFinalizer],
        ["liar.example/hold"],
        [syncerFinalizer, "liar.example/hold"],
      ]),
    },
    { ownerReferences: [ownerReference(namespaces, { name: owner, uid: uidOf(world, owner) })] },
    { managedFields: [{}] },
    { labels: { [claimedFromLabel]: uidOf(world, world.victim.namespace) } },
  ]);
}

/** Replaces one random thing of an object: its metadata, or one field or a part of one. */
async function change(
  world: LyingTenant,
  client: KubeClient,
  type: ResourceType,
  object: {
    readonly metadata: { readonly namespace?: string | undefined; readonly name?: string | undefined };
  } & Readonly<Record<string, unknown>>,
  fields: readonly string[],
): Promise<string> {
  const { namespace, name = "" } = object.metadata;
  const ref = namespace === undefined ? { name } : { namespace, name };
  const field = pick(world, ["metadata", ...fields]);
  const inside = Object.keys(recordAt(object, field));
  const value = pick(world, [...values, ...lies(world)]);
  const part = inside.length > 0 && world.random() < 0.8 ? { [pick(world, inside)]: value } : value;
  const patch = field === "metadata" ? { metadata: metadataLie(world) } : { [field]: part };
  await client.mergePatch(type, ref, patch, field === "status" ? { subresource: "status" } : {});
  return `changes ${type.plural} ${namespace ?? ""}/${name} on ${client.clusterName}: ${JSON.stringify(patch).slice(0, 200)}`;
}

const changeClaim: Deed = (world) => {
  const { type } = pick(world, simulatedApis);
  return change(world, world.liar.direct, type, pick(world, objectsOf(world.liar.consumer, type)), [
    "spec",
    "status",
  ]);
};

const makeClaim: Deed = async (world) => {
  const api = pick(world, simulatedApis);
  const { victim, liar } = world;
  const name = pick(world, ["a", "b", "c", `${victim.namespace}-a`, "a-creds", "kubeconfig", "liar"]);
  const namespace = pick(world, [...workNamespaces, "kube-system", victim.namespace]);
  const claim = objectOf(api, namespace, name, { size: 666, note: "by the liar" });
  await liar.direct.create<DynamicObject>(api.type, {
    ...claim,
    metadata: { ...claim.metadata, ...metadataLie(world) },
  });
  return `claims ${api.type.plural} ${namespace}/${name}`;
};

const changeOnConsumer: Deed = (world) => {
  const type = pick(world, [secrets, secrets, apiServiceBindings, customResourceDefinitions]);
  const all = objectsOf(world.liar.consumer, type).filter(({ metadata }) => metadata.name !== "kubeconfig");
  return change(
    world,
    world.liar.direct,
    type,
    pick(world, all),
    type === secrets ? ["data", "type"] : ["spec", "status"],
  );
};

const makeNamespace: Deed = async (world) => {
  const name = pick(world, [
    world.victim.namespace,
    serviceNamespaceOf(world.victim, "app"),
    "liars",
    "kube-public",
  ]);
  const metadata = { name, ...metadataLie(world) };
  await world.liar.direct.create<DynamicObject>(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata,
  });
  return `makes namespace ${name}`;
};

/** As if it were the backend. */
const answerItself: Deed = async (world) => {
  const { liar, client } = world;
  const name = pick(world, [...workNamespaces, "kube-system", "liars", world.victim.namespace]);
  const ref = { namespace: liar.namespace, name };
  const isThere = objectsOf(world.provider, apiServiceNamespaces).some(
    ({ metadata }) => metadata.namespace === liar.namespace && metadata.name === name,
  );
  if (!isThere)
    await client.create<DynamicObject>(apiServiceNamespaces, {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: apiServiceNamespaces.kind,
      metadata: { ...ref, ...metadataLie(world) },
      spec: {},
    });
  const status = { namespace: pick(world, [...lies(world), ...values]) };
  await client.mergePatch(apiServiceNamespaces, ref, { status }, { subresource: "status" });
  return `answers itself for ${name}: ${JSON.stringify(status).slice(0, 80)}`;
};

const request: Deed = async (world) => {
  const { liar, client } = world;
  const name = `r${Math.floor(world.random() * 5)}`;
  await client.create<DynamicObject>(apiServiceExportRequests, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: apiServiceExportRequests.kind,
    metadata: { namespace: liar.namespace, name },
    spec: {
      resources: [
        pick(world, [
          { group: "", resource: "secrets" },
          { group: zones.type.group, resource: "zones" },
        ]),
      ],
      parameters: {},
    },
  });
  return `requests ${name}`;
};

const changeAccount: Deed = (world) => {
  const { namespace } = world.liar;
  const own = objectsOf(world.provider, clusterBindings).filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === clusterBindingName,
  );
  return change(world, world.client, clusterBindings, pick(world, own), ["status"]);
};

const changeExportStatus: Deed = (world) => {
  const { namespace } = world.liar;
  const own = objectsOf(world.provider, apiServiceExports).filter(
    ({ metadata }) => metadata.namespace === namespace,
  );
  return change(world, world.client, apiServiceExports, pick(world, own), ["status"]);
};

/** Whether an object of the provider stands where the tenant's role reaches. */
function isReached({ liar }: LyingTenant, namespace: string | undefined, name: string): boolean {
  return namespace === undefined
    ? name.startsWith(`${liar.namespace}-`)
    : namespace.startsWith(`${liar.namespace}-`);
}

const changeUpstream: Deed = (world) => {
  const { type } = pick(world, simulatedApis);
  const own = objectsOf(world.provider, type).filter(({ metadata: { namespace, name = "" } }) =>
    isReached(world, namespace, name),
  );
  return change(world, world.client, type, pick(world, own), ["spec", "status"]);
};

const plantUpstream: Deed = async (world) => {
  const { liar, victim } = world;
  const name = pick(world, ["a", "b", "c", "planted", "a-creds"]);
  const namespace = serviceNamespaceOf(liar, pick(world, workNamespaces));
  const claim = objectOf(databases, namespace, name, { size: 1, note: "by the liar" });
  const annotations = {
    [clusterNamespaceAnnotation]: victim.namespace,
    [boundAnnotation]: pick(world, ["true", "false"]),
    [consumerNameAnnotation]: "a",
  };
  await world.client.create<DynamicObject>(databases.type, {
    ...claim,
    metadata: { namespace, name, annotations },
  });
  return `plants databases ${namespace}/${name}`;
};

const removeOnProvider: Deed = async (world) => {
  const type = pick(world, [databases.type, zones.type, apiServiceNamespaces]);
  const own = objectsOf(world.provider, type).filter(({ metadata: { namespace, name = "" } }) =>
    type === apiServiceNamespaces ? namespace === world.liar.namespace : isReached(world, namespace, name),
  );
  const { namespace, name = "" } = pick(world, own).metadata;
  await world.client.delete(type, namespace === undefined ? { name } : { namespace, name });
  return `deletes ${type.plural} ${namespace ?? ""}/${name} on the provider`;
};
