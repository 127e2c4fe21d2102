/** Two models of API servers with one kind, and what users, providers and older agents do to its objects. */
import {
  clusterNamespaceAnnotation,
  specDigestAnnotation,
  specObservedCondition,
  specObservedReason,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  type DynamicObject,
  namespaces,
  type ObjectMeta,
  type ObjectRef,
  recordsAt,
  type ResourceType,
} from "@klutch/kube-core";
import { ApiServerModel, type Json, type JsonObject, VirtualClock } from "@klutch/kube-testing";
import { legacyManager, type StatusView, type Tenant } from "@klutch/sync";

/** One action of a user or controller on an object. `name` is that of the claim. */
export type ObjectDeed =
  | { readonly do: "apply"; readonly name: string; readonly spec: object }
  | {
      readonly do:
        | "label"
        | "claimStatus"
        | "status"
        | "work"
        | "speak"
        | "mark"
        | "fill"
        | "drift"
        | "legacy";
      readonly name: string;
      readonly value: number;
    }
  | { readonly do: "delete" | "deleteUpstream" | "createUpstream"; readonly name: string };

/** Namespaces of claims and of their upstream objects, for namespaced kinds. */
/** The Secret with credentials that a controller names. */
export const credentials = "creds";
export const places = { app: "app", mirror: "cluster-a-app" } as const;

/** Made by `startPairServers`. */
export interface PairServers {
  readonly clock: VirtualClock;
  readonly type: ResourceType;
  readonly view: StatusView;
  readonly tenant: Tenant;
  readonly consumer: KubeClient;
  readonly provider: KubeClient;
}

/**
 * The provider changes applied fields (`note` comes out in lower case), and the app cluster keeps less status than is written
 * (`hidden` goes).
 */
export async function startPairServers(namespaced: boolean, view: StatusView): Promise<PairServers> {
  const clock = new VirtualClock();
  const type = { group: "example.org", version: "v1", plural: "widgets", kind: "Widget", namespaced };
  const consumerServer = new ApiServerModel({ clock, uidSeed: 10 });
  const providerServer = new ApiServerModel({ clock, uidSeed: 20 });
  consumerServer.register({
    type,
    statusSubresource: true,
    prepare: (next) => changed(next, "status", withoutHidden),
  });
  providerServer.register({
    type,
    statusSubresource: true,
    prepare: (next) => changed(next, "spec", inLowerCase),
  });
  const consumer = consumerServer.client({ clusterName: "consumer" });
  const provider = providerServer.client({ clusterName: "provider" });
  await createNamespace(consumer, places.app);
  await createNamespace(provider, places.mirror);
  const { metadata } = await createNamespace(provider, "cluster-a");
  const tenant = { namespace: "cluster-a", namespaceUid: metadata.uid ?? "" };
  return { clock, type, view, tenant, consumer, provider };
}

/** Does it. Throws what the server answers. */
export async function carryOut(servers: PairServers, deed: ObjectDeed): Promise<void> {
  const { consumer, provider, type } = servers;
  const [claim, upstream] = [claimRef(servers, deed.name), upstreamRef(servers, deed.name)];
  const change = async (
    client: KubeClient,
    patch: object,
    options: { readonly subresource?: string; readonly fieldManager?: string } = {},
  ): Promise<void> => {
    const ref = client === consumer ? claim : upstream;
    await client.mergePatch(type, ref, patch, { fieldManager: "somebody", ...options });
  };
  switch (deed.do) {
    case "apply": {
      const object = objectOf(servers, claim, deed.spec);
      await consumer.apply(type, object, { fieldManager: "user", force: true });
      return;
    }
    case "label":
      return change(consumer, { metadata: { labels: { tier: `${deed.value}` } } });
    case "claimStatus":
      return change(consumer, { status: { count: deed.value } }, { subresource: "status" });
    case "status": {
      const hidden = deed.value % 2 === 0 ? true : null;
      return change(provider, { status: { count: deed.value, hidden } }, { subresource: "status" });
    }
    case "work":
      return work(provider, type, upstream, deed.value);
    case "speak": {
      const status = deed.value === 0 ? "True" : "False";
      const words = { type: "klutch.anynines.com/Ready", status, reason: "Said", message: `${deed.value}` };
      const { conditions } = await statusOf(provider, type, upstream);
      const others = conditions.filter((one) => one["type"] !== words.type);
      return change(provider, { status: { conditions: [...others, words] } }, { subresource: "status" });
    }
    case "mark": {
      const mark = deed.value === 0 ? null : deed.value === 1 ? "00000000deadbeef" : "long".repeat(50);
      return change(provider, { metadata: { annotations: { [specDigestAnnotation]: mark } } });
    }
    case "fill":
      return change(provider, { spec: { tier: `${deed.value}` } });
    case "drift":
      return change(provider, { spec: { size: deed.value } });
    case "legacy":
      return change(provider, { spec: { old: deed.value } }, { fieldManager: legacyManager });
    case "delete":
      await consumer.delete(type, claim);
      return;
    case "deleteUpstream":
      await provider.delete(type, upstream);
      return;
    case "createUpstream":
      await provider.create(type, objectOf(servers, upstream, { other: 7 }));
      return;
    default:
      deed satisfies never;
  }
}

/** A controller that works on the object as it is, one that worked on it before (1), and one that comes from the future or lies (2). */
async function work(client: KubeClient, type: ResourceType, ref: ObjectRef, value: number): Promise<void> {
  const { metadata, number } = await statusOf(client, type, ref);
  const observedGeneration = value === 0 ? number : value === 1 ? number - 1 : number + 1;
  const mark = metadata.annotations?.[specDigestAnnotation];
  const echo = { type: specObservedCondition, status: "True", reason: specObservedReason(mark ?? "none") };
  const conditions = [
    { type: "Ready", status: "True", reason: "Available", lastTransitionTime: "2026-01-01T00:00:00Z" },
    { type: "Synced", status: "True", observedGeneration },
    ...(mark === undefined && value === 0 ? [] : [echo]),
  ];
  const managed = { credentials: { name: credentials } };
  const status = value === 1 ? { observedGeneration, conditions, managed } : { conditions, managed };
  await client.mergePatch(type, ref, { status }, { fieldManager: "controller", subresource: "status" });
}

async function statusOf(
  client: KubeClient,
  type: ResourceType,
  ref: ObjectRef,
): Promise<{
  readonly metadata: ObjectMeta;
  readonly number: number;
  readonly conditions: readonly Readonly<Record<string, unknown>>[];
}> {
  const { metadata, status } = await client.get<DynamicObject>(type, ref);
  return { metadata, number: metadata.generation ?? 0, conditions: recordsAt(status, "conditions") };
}

function claimRef({ type }: PairServers, name: string): ObjectRef {
  return type.namespaced ? { namespace: places.app, name } : { name };
}

function upstreamRef({ type, tenant }: PairServers, name: string): ObjectRef {
  return type.namespaced ? { namespace: places.mirror, name } : { name: `${tenant.namespace}-${name}` };
}

function objectOf({ type, tenant }: PairServers, ref: ObjectRef, spec: object): DynamicObject {
  const annotations = type.namespaced ? {} : { [clusterNamespaceAnnotation]: tenant.namespace };
  return { apiVersion: "example.org/v1", kind: type.kind, metadata: { ...ref, annotations }, spec };
}

function createNamespace(client: KubeClient, name: string): Promise<DynamicObject> {
  return client.create<DynamicObject>(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  });
}

function changed(
  object: JsonObject,
  field: string,
  change: (name: string, value: Json) => Json | undefined,
): JsonObject {
  const fields = object[field];
  if (typeof fields !== "object" || fields === null) return object;
  const kept: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) {
    const next = change(name, value);
    if (next !== undefined) kept[name] = next;
  }
  return { ...object, [field]: kept };
}

const withoutHidden = (name: string, value: Json): Json | undefined =>
  name === "hidden" ? undefined : value;

const inLowerCase = (name: string, value: Json): Json =>
  name === "note" && typeof value === "string" ? value.toLowerCase() : value;
