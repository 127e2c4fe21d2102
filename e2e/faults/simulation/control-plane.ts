/** What works on the provider besides the agents: the backend's answer to namespaces, and a controller that makes "databases". */
import {
  apiServiceNamespaces,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
  serviceNamespaceOwner,
} from "@klutch/api";
import {
  type DynamicObject,
  isRecord,
  keyOf,
  namespaces,
  recordAt,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { isAlreadyExists, isForbidden, isNotFound, type KubeClient, type Random } from "@klutch/kube";
import { secretObject, type VirtualClock } from "@klutch/kube-testing";
import { databases, simulatedApis } from "./apis.ts";
import type { SimulatedTenant } from "./tenant.ts";

/** Counts up with every status that is written, over all objects. */
export interface StatusCounter {
  next: number;
}

const askAgainMs = 1_000;
const slowFinalizer = "sim.klutch.example/slow";
const ignoreGone = (error: unknown): void => {
  if (!isNotFound(error) && !isAlreadyExists(error)) throw error;
};

/** Follows a resource until the signal aborts, one change after the other; `onChange` must not fail. */
export async function follow(
  client: KubeClient,
  type: ResourceType,
  signal: AbortSignal,
  onChange: (object: DynamicObject, isGone: boolean) => void | Promise<void>,
): Promise<void> {
  try {
    for await (const event of client.watch<DynamicObject>(type, {
      sendInitialEvents: true,
      timeoutSeconds: 86_400,
      idleTimeoutMs: 86_400_000,
      signal,
    })) {
      if (event.type !== "BOOKMARK") await onChange(event.object, event.type === "DELETED");
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The backend's part: service namespaces. The provider puts something of its own into each before the mapping shows it to the tenant. */
export function serveNamespaces(
  client: KubeClient,
  clock: VirtualClock,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const serve = async (namespace: string, name: string): Promise<void> => {
    const mirror = serviceNamespaceName(namespace, name);
    await clock.sleep(random() * 300, { signal }).catch(() => undefined);
    const annotations = { [serviceNamespaceAnnotation]: serviceNamespaceOwner(namespace, name) };
    await client
      .create<DynamicObject>(namespaces, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: mirror, annotations },
      })
      .catch(ignoreGone);
    await client.create(secrets, secretObject(mirror, "welcome", { tenant: namespace })).catch(ignoreGone);
    await clock.sleep(random() * 300, { signal }).catch(() => undefined);
    await client
      .mergePatch(
        apiServiceNamespaces,
        { namespace, name },
        { status: { namespace: mirror } },
        { subresource: "status" },
      )
      .catch(ignoreGone);
  };
  /** The old namespace of a mapping that is made anew may still be going. */
  const serveLater = async (namespace: string, name: string): Promise<void> => {
    await clock.sleep(askAgainMs, { signal });
    if ((await client.find(apiServiceNamespaces, { namespace, name })) !== undefined)
      await serve(namespace, name).catch(() => serveLater(namespace, name));
  };
  return follow(client, apiServiceNamespaces, signal, async ({ metadata }, isGone) => {
    const { namespace = "", name = "" } = metadata;
    if (isGone) {
      await client.delete(namespaces, { name: serviceNamespaceName(namespace, name) });
      return;
    }
    await serve(namespace, name).catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      serveLater(namespace, name).catch(() => undefined);
    });
  });
}

/** The controller: late initialisation, a status that counts up, a Secret with each database, slow deletion. */
export function runProvider(
  client: KubeClient,
  clock: VirtualClock,
  random: Random,
  counter: StatusCounter,
  signal: AbortSignal,
): Promise<void> {
  const busy = new Set<string>();
  const work = async (type: ResourceType, object: DynamicObject): Promise<void> => {
    const { namespace, name = "", deletionTimestamp, finalizers = [], uid } = object.metadata;
    const ref = namespace === undefined ? { name } : { namespace, name };
    await clock.sleep(20 + random() * 400, { signal });
    if (deletionTimestamp !== undefined) {
      if (!finalizers.includes(slowFinalizer)) return;
      await clock.sleep(random() * 3_000, { signal });
      if (type.plural === databases.type.plural)
        await client.delete(secrets, { namespace, name: `${name}-creds` });
      await client.mergePatch(type, ref, {
        metadata: { uid, finalizers: finalizers.filter((one) => one !== slowFinalizer) },
      });
      return;
    }
    const isNew = isRecord(object["spec"]) && object["spec"]["resourceRef"] === undefined;
    if (isNew) {
      const patch = { metadata: { uid, finalizers: [slowFinalizer] }, spec: { resourceRef: `xr-${uid}` } };
      await client.mergePatch(type, ref, patch, { fieldManager: "crossplane" });
      if (type.plural === databases.type.plural)
        await writeSecret(client, ref.namespace ?? "", name, uid ?? "");
    }
    const spec = recordAt(object, "spec");
    const seen = `${JSON.stringify(spec["size"])} ${JSON.stringify(spec["note"])}`;
    const status = recordAt(object.status);
    if (status["of"] === seen && !isNew) return;
    await client.mergePatch(
      type,
      ref,
      { metadata: { uid }, status: { count: counter.next++, of: seen } },
      { subresource: "status" },
    );
  };
  const each = simulatedApis.map(({ type }) =>
    follow(client, type, signal, async (object, isGone) => {
      const key = `${type.plural} ${keyOf(object)} ${object.metadata.resourceVersion}`;
      if (isGone || busy.has(key)) return;
      busy.add(key);
      work(type, object)
        .catch(() => undefined)
        .finally(() => busy.delete(key));
    }),
  );
  return Promise.all(each).then(() => undefined);
}

async function writeSecret(client: KubeClient, namespace: string, name: string, uid: string): Promise<void> {
  const data = { password: Buffer.from(`${uid}`).toString("base64") };
  const metadata = { namespace, name: `${name}-creds` };
  const content = { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
  await client.apply(secrets, content, { fieldManager: "crossplane", force: true }).catch(ignoreGone);
}

/** The service namespaces of a tenant, by consumer namespace. */
export function serviceNamespaceOf({ namespace }: SimulatedTenant, consumerNamespace: string): string {
  return serviceNamespaceName(namespace, consumerNamespace);
}
