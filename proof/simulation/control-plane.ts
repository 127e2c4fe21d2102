/**
 * Runs the provider's side besides the agents: the backend's answer to namespaces, and the controllers. Zones have an honest controller: its
 * numbers are those of the spec that it worked on. Databases are claims of Crossplane: the existing status is stamped with the newest
 * generation at once, and the real one comes later, stamped with whatever generation there is by then. Only the echo of the mark tells.
 */
import {
  apiServiceNamespaces,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
  serviceNamespaceOwner,
  specDigestAnnotation,
  specObservedCondition,
  specObservedReason,
} from "@klutch/api";
import {
  canonicalJson,
  type DynamicObject,
  namespaces,
  type ObjectMeta,
  type ObjectRef,
  recordAt,
  recordsAt,
  refOfObject,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { isAlreadyExists, isForbidden, isNotFound, type KubeClient, type Random } from "@klutch/kube";
import { namespaceObject, secretObject, type VirtualClock } from "@klutch/kube-testing";
import { databases, simulatedApis } from "./apis.ts";
import { WorkLedger } from "./generations.ts";
import type { SimulatedTenant } from "./tenant.ts";

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
    await client.create(namespaces, namespaceObject(mirror, annotations)).catch(ignoreGone);
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
  /** Retries: the old namespace of a mapping that is made again may still be going. */
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

/** The controllers: late initialisation, statuses, a Secret with each database, slow deletion. */
export function runProvider(
  client: KubeClient,
  clock: VirtualClock,
  random: Random,
  counter: StatusCounter,
  signal: AbortSignal,
): Promise<void> {
  const { ledger = new WorkLedger() } = counter;
  const work = async (type: ResourceType, ref: ObjectRef): Promise<void> => {
    await clock.sleep(20 + random() * 400, { signal });
    const object = await client.get<DynamicObject>(type, ref);
    const { name = "", deletionTimestamp, finalizers = [], uid } = object.metadata;
    const place = placeOf(type, ref);
    if (deletionTimestamp !== undefined) {
      if (!finalizers.includes(slowFinalizer)) return;
      await writeStatus(client, type, object, deletingStatus(object, counter));
      await clock.sleep(random() * 3_000, { signal });
      if (type.plural === databases.type.plural)
        await client.delete(secrets, { namespace: ref.namespace, name: `${name}-creds` });
      await client.mergePatch(type, ref, {
        metadata: { uid, finalizers: finalizers.filter((one) => one !== slowFinalizer) },
      });
      ledger.worked(place, undefined, clock.monotonic());
      return;
    }
    if (recordAt(object, "spec")["resourceRef"] === undefined) {
      const patch = { metadata: { uid, finalizers: [slowFinalizer] }, spec: { resourceRef: `xr-${uid}` } };
      await client.mergePatch(type, ref, patch, { fieldManager: "crossplane" });
      if (type.plural === databases.type.plural)
        await writeSecret(client, ref.namespace ?? "", name, uid ?? "");
      return;
    }
    if (isDone(type, object)) return;
    if (type.plural === databases.type.plural) await writeStatus(client, type, object, stampedStatus(object));
    await clock.sleep(random() * 2_000, { signal });
    ledger.worked(place, specText(object), clock.monotonic());
    const live = await client.get<DynamicObject>(type, ref);
    await writeStatus(client, type, object, workedStatus(type, object, live, counter));
  };
  const running = new Map<string, Promise<void>>();
  const each = simulatedApis.map(({ type }) =>
    follow(client, type, signal, (object, isGone) => {
      const ref = refOfObject(object);
      const key = placeOf(type, ref);
      if (isGone) return;
      const before = running.get(key) ?? Promise.resolve();
      running.set(
        key,
        before.then(() => work(type, ref)).catch(() => undefined),
      );
    }),
  );
  return Promise.all(each).then(() => undefined);
}

async function writeStatus(
  client: KubeClient,
  type: ResourceType,
  object: DynamicObject,
  status: object,
): Promise<void> {
  const patch = { metadata: { uid: object.metadata.uid }, status };
  await client.mergePatch(type, refOfObject(object), patch, { subresource: "status" });
}

async function writeSecret(client: KubeClient, namespace: string, name: string, uid: string): Promise<void> {
  const content = secretObject(namespace, `${name}-creds`, { password: uid });
  await client.apply(secrets, content, { fieldManager: "crossplane", force: true }).catch(ignoreGone);
}

/** The service namespaces of a tenant, by consumer namespace. */
export function serviceNamespaceOf({ namespace }: SimulatedTenant, consumerNamespace: string): string {
  return serviceNamespaceName(namespace, consumerNamespace);
}

/** Counts up with every status that is written, over all objects, and notes what was worked on. */
export interface StatusCounter {
  next: number;
  readonly ledger?: WorkLedger | undefined;
}

/** Returns the place of an object, for the ledger. */
export function placeOf(
  { plural }: Pick<ResourceType, "plural">,
  { namespace = "", name = "" }: ObjectMeta,
): string {
  return `${plural} ${namespace}/${name}`;
}

/** Returns the spec of an object or its claim without the field that the provider fills in. */
export function specText(object: DynamicObject): string {
  const { resourceRef: _late, ...spec } = recordAt(object, "spec");
  return canonicalJson(spec);
}

const since = { lastTransitionTime: "2026-01-01T00:00:00Z" };

/** Tells whether the controller of this kind has nothing to do. */
function isDone(type: ResourceType, { metadata, status, spec }: DynamicObject): boolean {
  const { generation, annotations } = metadata;
  const { of, observedGeneration } = recordAt(status);
  const mark = annotations?.[specDigestAnnotation];
  const conditions = recordsAt(status, "conditions");
  const echo = conditions.find((one) => one["type"] === specObservedCondition);
  if (of !== seen(spec)) return false;
  if (type.plural !== databases.type.plural) return observedGeneration === generation;
  if (conditions.some((one) => one["observedGeneration"] !== generation)) return false;
  return mark === undefined || echo?.["reason"] === specObservedReason(mark);
}

/** Returns the existing status, stamped with the newest generation although no controller has looked at that. */
function stampedStatus({ metadata: { generation }, status }: DynamicObject): object {
  const conditions = recordsAt(status, "conditions");
  return { conditions: conditions.map((one) => ({ ...one, observedGeneration: generation })) };
}

/** Returns the status after work on `worked`, when the object is `live` by then. */
function workedStatus(
  type: ResourceType,
  worked: DynamicObject,
  live: DynamicObject,
  counter: StatusCounter,
): object {
  const isHonest = type.plural !== databases.type.plural;
  const observedGeneration = (isHonest ? worked : live).metadata.generation;
  const mark = worked.metadata.annotations?.[specDigestAnnotation];
  const ready = { type: "Ready", status: "True", reason: "Available", observedGeneration, ...since };
  const echo = { type: specObservedCondition, status: "True", observedGeneration, ...since };
  const isEchoed = !isHonest && mark !== undefined;
  return {
    count: counter.next++,
    of: seen(worked.spec),
    ...(isHonest ? { observedGeneration } : {}),
    conditions: [ready, ...(isEchoed ? [{ ...echo, reason: specObservedReason(mark) }] : [])],
  };
}

/** Returns the status of an object that is being deleted. */
function deletingStatus({ metadata: { generation } }: DynamicObject, counter: StatusCounter): object {
  const ready = { type: "Ready", status: "False", reason: "Deleting", observedGeneration: generation };
  return { count: counter.next++, conditions: [{ ...ready, ...since }] };
}

function seen(spec: unknown): string {
  const { size, note } = recordAt(spec);
  return `${JSON.stringify(size)} ${JSON.stringify(note)}`;
}
