/** Carries out the steps of a plan: the only place where claims and their upstream objects are written. */
import { apiServiceNamespaces, bindGroup, boundAnnotation, fieldManager, syncerFinalizer } from "@klutch/api";
import { isAlreadyExists, isNotFound } from "@klutch/kube";
import {
  apiVersionOf,
  type DynamicObject,
  keyOf,
  keyOfRef,
  type ObjectRef,
  type ResourceType,
} from "@klutch/kube-core";
import { findSurely, type ReadYourWritesCache, StaleCacheError } from "@klutch/kube-runtime";
import { handOver, type Step, unmarkPatch } from "@klutch/sync";
import type { ConsumerCluster, ProviderCluster } from "../../clusters.ts";
import type { BoundDigest } from "../../digests.ts";
import type { MultiNamespaceInformer } from "../service-namespace/multi-namespace-informer.ts";
import type { NamespaceMappings } from "../service-namespace/namespace-mappings.ts";
import { applyUpstream } from "./apply-upstream.ts";

/** Where steps are carried out. */
export interface ExecutionContext {
  readonly type: ResourceType;
  /** The resource on the provider: another scope than `type` under isolation Namespaced. */
  readonly providerType: ResourceType;
  /** Whether the provider itself showed that the upstream object of this claim is gone, and has not shown another since. */
  readonly wasSeenGoing: (ref: ObjectRef) => boolean;
  /** Throws when the provider is not the one it was. */
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  /** Whether status is written through the subresource; without it, with the object. */
  readonly statusSubresource: boolean;
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly consumerCache: Pick<ReadYourWritesCache<BoundDigest>, "get" | "wrote">;
  readonly providerInformer: Pick<MultiNamespaceInformer<BoundDigest>, "wrote">;
  readonly namespaces: NamespaceMappings;
  /** Called after each write that was answered. */
  readonly onWrite: (step: Step["do"]) => void;
}

/** Carries out one step. Gives back the object that the server answered with, where there is one. */
export async function executeStep(
  context: ExecutionContext,
  step: Step,
  signal: AbortSignal,
): Promise<DynamicObject | undefined> {
  const answer = await write(context, step, signal);
  context.onWrite(step.do);
  return answer;
}

function write(
  context: ExecutionContext,
  step: Step,
  signal: AbortSignal,
): Promise<DynamicObject | undefined> {
  switch (step.do) {
    case "createMapping":
      return createMapping(context, step.consumerNamespace, signal);
    case "addFinalizer":
      return addFinalizer(context, step, signal);
    case "applyProvider":
      return applyProvider(context, step, signal);
    case "patchProvider":
      return patchProvider(context, step, signal);
    case "deleteProvider":
      return deleteProvider(context, step, signal);
    case "removeFinalizer":
      return removeFinalizer(context, step, signal);
    case "writeStatus":
      return writeStatus(context, step, signal);
    case "createConsumer":
      return createConsumer(context, step, signal);
    case "handOverConsumer":
      return handOverConsumer(context, step, signal);
    case "unmarkConsumer":
      return unmarkConsumer(context, step, signal);
    case "deleteConsumer":
      return deleteConsumer(context, step, signal);
    default:
      return step satisfies never;
  }
}

type StepOf<D extends Step["do"]> = Extract<Step, { readonly do: D }>;

async function createMapping(
  { provider, namespaces }: ExecutionContext,
  consumerNamespace: string,
  signal: AbortSignal,
): Promise<undefined> {
  const mapping: DynamicObject = {
    apiVersion: `${bindGroup}/v1alpha1`,
    kind: apiServiceNamespaces.kind,
    metadata: { namespace: provider.tenant.namespace, name: consumerNamespace },
    spec: {},
  };
  await namespaces.ask(consumerNamespace, async () => {
    try {
      namespaces.wrote(
        await provider.client.create<DynamicObject>(apiServiceNamespaces, mapping, { signal }),
      );
    } catch (error) {
      // An earlier agent was faster, or the old mapping is still being deleted: its event comes.
      if (!isAlreadyExists(error)) throw error;
    }
  });
}

async function addFinalizer(
  { consumer, type, consumerCache }: ExecutionContext,
  { ref, uid }: StepOf<"addFinalizer">,
  signal: AbortSignal,
): Promise<DynamicObject> {
  const content: DynamicObject = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      ...ref,
      uid,
      finalizers: [syncerFinalizer],
      annotations: { [boundAnnotation]: "true" },
    },
  };
  const answer = await consumer.client.apply<DynamicObject>(type, content, {
    fieldManager,
    force: true,
    signal,
  });
  consumerCache.wrote(answer);
  return answer;
}

async function applyProvider(
  { provider, providerType: type, providerInformer }: ExecutionContext,
  { content, uid }: StepOf<"applyProvider">,
  signal: AbortSignal,
): Promise<DynamicObject> {
  const metadata = uid === undefined ? content.metadata : { ...content.metadata, uid };
  const options = { fieldManager, force: true, signal };
  const answer = await applyUpstream(provider.client, type, { ...content, metadata }, options);
  providerInformer.wrote(answer);
  return answer;
}

async function patchProvider(
  { provider, providerType: type, providerInformer }: ExecutionContext,
  { ref, patch }: StepOf<"patchProvider">,
  signal: AbortSignal,
): Promise<DynamicObject> {
  const answer = await provider.client.mergePatch<DynamicObject>(type, ref, patch, { fieldManager, signal });
  providerInformer.wrote(answer);
  return answer;
}

async function deleteProvider(
  { provider, providerType: type }: ExecutionContext,
  { ref, uid, inForeground }: StepOf<"deleteProvider">,
  signal: AbortSignal,
): Promise<undefined> {
  const propagationPolicy = inForeground === true ? "Foreground" : undefined;
  await provider.client.delete(type, ref, { preconditions: { uid }, propagationPolicy, signal });
}

/** The finalizer goes only when the live provider shows that nothing of ours is left. */
async function removeFinalizer(
  context: ExecutionContext,
  { ref, uid, confirmGone }: StepOf<"removeFinalizer">,
  signal: AbortSignal,
): Promise<undefined> {
  const { consumer, provider, type, providerType, consumerCache, providerInformer, confirmProvider } =
    context;
  if (confirmGone.length > 0) await confirmProvider(signal);
  for (const place of context.wasSeenGoing(ref) ? [] : confirmGone) {
    const found = await findSurely(provider.client, providerType, place, signal);
    if (found !== undefined) {
      providerInformer.wrote(found);
      throw new StaleCacheError(`${type.kind} ${keyOf(found)} on the provider`);
    }
  }
  const cached = consumerCache.get(keyOfRef(ref));
  const index = cached?.metadata.finalizers?.indexOf(syncerFinalizer) ?? -1;
  if (index < 0) return;
  const path = `/metadata/finalizers/${index}`;
  const operations = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path, value: syncerFinalizer },
    { op: "remove", path },
  ];
  try {
    await consumer.client.jsonPatch(type, ref, operations, { fieldManager, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function writeStatus(
  { consumer, type, statusSubresource, consumerCache }: ExecutionContext,
  { ref, uid, status }: StepOf<"writeStatus">,
  signal: AbortSignal,
): Promise<DynamicObject | undefined> {
  const operations = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "add", path: "/status", value: status },
  ];
  const subresource = statusSubresource ? "status" : undefined;
  try {
    const options = { fieldManager, subresource, signal };
    const answer = await consumer.client.jsonPatch<DynamicObject>(type, ref, operations, options);
    consumerCache.wrote(answer);
    return answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function createConsumer(
  { consumer, type, consumerCache }: ExecutionContext,
  { content }: StepOf<"createConsumer">,
  signal: AbortSignal,
): Promise<undefined> {
  try {
    const answer = await consumer.client.create<DynamicObject>(type, content, {
      fieldManager,
      signal,
    });
    consumerCache.wrote(answer);
  } catch (error) {
    if (isAlreadyExists(error)) throw new StaleCacheError(`${type.kind} ${keyOf(content)}`);
    throw error;
  }
}

async function handOverConsumer(
  { consumer, type, consumerCache }: ExecutionContext,
  { ref, uid }: StepOf<"handOverConsumer">,
  signal: AbortSignal,
): Promise<DynamicObject | undefined> {
  const { client } = consumer;
  const claim = await client.find<DynamicObject>(type, ref, { signal });
  if (claim?.metadata.uid !== uid) return undefined;
  const answer = await client.jsonPatch<DynamicObject>(type, ref, handOver(claim), { fieldManager, signal });
  consumerCache.wrote(answer);
  return answer;
}

/** The claim lives on as a plain object. */
async function unmarkConsumer(
  { consumer, type, consumerCache }: ExecutionContext,
  { ref, uid }: StepOf<"unmarkConsumer">,
  signal: AbortSignal,
): Promise<undefined> {
  const patch = unmarkPatch({ ...consumerCache.get(keyOfRef(ref))?.metadata, uid });
  try {
    const answer = await consumer.client.mergePatch<DynamicObject>(type, ref, patch, {
      fieldManager,
      signal,
    });
    consumerCache.wrote(answer);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function deleteConsumer(
  { consumer, type }: ExecutionContext,
  { ref, uid }: StepOf<"deleteConsumer">,
  signal: AbortSignal,
): Promise<undefined> {
  await consumer.client.delete(type, ref, { preconditions: { uid }, signal });
}
