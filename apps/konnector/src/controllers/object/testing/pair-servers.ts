/** Two models of API servers with one kind, and what users, providers and older agents do to its objects. */
import { clusterNamespaceAnnotation } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, namespaces, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import { ApiServerModel, type Json, type JsonObject, VirtualClock } from "@klutch/kube-testing";
import { legacyManager, type Tenant } from "@klutch/sync";

/** What somebody does to an object. `name` is that of the claim. */
export type ObjectDeed =
  | { readonly do: "apply"; readonly name: string; readonly spec: object }
  | {
      readonly do: "label" | "claimStatus" | "status" | "fill" | "drift" | "legacy";
      readonly name: string;
      readonly value: number;
    }
  | { readonly do: "delete" | "deleteUpstream" | "createUpstream"; readonly name: string };

/** Where claims and their upstream objects lie, for kinds that are namespaced. */
export const places = { app: "app", mirror: "cluster-a-app" } as const;

/** Made by `startPairServers`. */
export interface PairServers {
  readonly clock: VirtualClock;
  readonly type: ResourceType;
  readonly tenant: Tenant;
  readonly consumer: KubeClient;
  readonly provider: KubeClient;
}

/**
 * The provider changes what is applied (`note` comes out in lower case), and the app cluster keeps less status than is written
 * (`hidden` goes).
 */
export async function startPairServers(namespaced: boolean): Promise<PairServers> {
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
  return { clock, type, tenant, consumer, provider };
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
