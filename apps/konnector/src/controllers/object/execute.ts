/** Carries out the steps of a plan: the only place where claims and their upstream objects are written. */
import { apiServiceNamespaces, bindGroup, boundAnnotation, fieldManager, syncerFinalizer } from "@klutch/api";
import { isAlreadyExists, isNotFound } from "@klutch/kube";
import { apiVersionOf, type DynamicObject, keyOf, keyOfRef, type ObjectRef } from "@klutch/kube-core";
import { findSurely, StaleCacheError } from "@klutch/kube-runtime";
import { handOver, type Step, unmarkPatch } from "@klutch/sync";
import { traced } from "../../traces.ts";
import { applyUpstream } from "./apply-upstream.ts";
import type { BoundCaches, BoundResource } from "./bound-resource.ts";

/** The clients and recorders that execute steps. */
export interface ExecutionContext {
  readonly bound: BoundResource;
  readonly caches: BoundCaches;
  /** Returns true if the provider itself showed that the claim's upstream object is gone, and has shown no other since. */
  readonly wasSeenGoing: (ref: ObjectRef) => boolean;
  /** The answers to applies that created their object. */
  readonly created: WeakSet<DynamicObject>;
  /** Called after each answered write. */
  readonly onWrite: (step: Step["do"]) => void;
}

/** Carries out one step. Returns the object that the server answered with, if any. */
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
  { bound: { provider, namespaces } }: ExecutionContext,
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
  { bound: { consumer, type }, caches: { claims } }: ExecutionContext,
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
  claims.wrote(answer);
  return answer;
}

async function applyProvider(
  { bound: { provider, providerType: type }, caches: { providerInformer }, created }: ExecutionContext,
  { content, uid }: StepOf<"applyProvider">,
  signal: AbortSignal,
): Promise<DynamicObject> {
  const own = traced(content.metadata);
  const metadata = uid === undefined ? own : { ...own, uid };
  let isNew = false;
  const onCreated = (): void => void (isNew = true);
  const options = { fieldManager, force: true, onCreated, signal };
  const answer = await applyUpstream(provider.client, type, { ...content, metadata }, options);
  if (isNew) created.add(answer);
  providerInformer.wrote(answer);
  return answer;
}

async function patchProvider(
  { bound: { provider, providerType: type }, caches: { providerInformer } }: ExecutionContext,
  { ref, patch }: StepOf<"patchProvider">,
  signal: AbortSignal,
): Promise<DynamicObject> {
  const answer = await provider.client.mergePatch<DynamicObject>(type, ref, patch, { fieldManager, signal });
  providerInformer.wrote(answer);
  return answer;
}

async function deleteProvider(
  { bound: { provider, providerType: type } }: ExecutionContext,
  { ref, uid, inForeground }: StepOf<"deleteProvider">,
  signal: AbortSignal,
): Promise<undefined> {
  const propagationPolicy = inForeground === true ? "Foreground" : undefined;
  await provider.client.delete(type, ref, { preconditions: { uid }, propagationPolicy, signal });
}

/** The finalizer goes only when the live provider shows that nothing of ours is left. */
async function removeFinalizer(
  { bound, caches: { claims, providerInformer }, wasSeenGoing }: ExecutionContext,
  { ref, uid, confirmGone }: StepOf<"removeFinalizer">,
  signal: AbortSignal,
): Promise<undefined> {
  const { consumer, provider, type, providerType, confirmProvider } = bound;
  if (confirmGone.length > 0) await confirmProvider(signal);
  for (const target of wasSeenGoing(ref) ? [] : confirmGone) {
    const found = await findSurely(provider.client, providerType, target, signal);
    if (found !== undefined) {
      providerInformer.wrote(found);
      throw new StaleCacheError(`${type.kind} ${keyOf(found)} on the provider`);
    }
  }
  const cached = claims.get(keyOfRef(ref));
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

/** Values with which a claim's status is written. */
export interface StatusContext {
  readonly bound: Pick<BoundResource, "consumer" | "type" | "statusSubresource">;
  readonly caches: Pick<BoundCaches, "claims">;
}

/** Writes the status of the claim with this UID. Returns undefined when there is none any more. */
export async function writeStatus(
  { bound: { consumer, type, statusSubresource }, caches: { claims } }: StatusContext,
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
    claims.wrote(answer);
    return answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function createConsumer(
  { bound: { consumer, type }, caches: { claims } }: ExecutionContext,
  { content }: StepOf<"createConsumer">,
  signal: AbortSignal,
): Promise<undefined> {
  try {
    const answer = await consumer.client.create<DynamicObject>(type, content, {
      fieldManager,
      signal,
    });
    claims.wrote(answer);
  } catch (error) {
    if (isAlreadyExists(error)) throw new StaleCacheError(`${type.kind} ${keyOf(content)}`);
    throw error;
  }
}

async function handOverConsumer(
  { bound: { consumer, type }, caches: { claims } }: ExecutionContext,
  { ref, uid }: StepOf<"handOverConsumer">,
  signal: AbortSignal,
): Promise<DynamicObject | undefined> {
  const { client } = consumer;
  const claim = await client.find<DynamicObject>(type, ref, { signal });
  if (claim?.metadata.uid !== uid) return undefined;
  const answer = await client.jsonPatch<DynamicObject>(type, ref, handOver(claim), { fieldManager, signal });
  claims.wrote(answer);
  return answer;
}

/** The claim lives on as a plain object. */
async function unmarkConsumer(
  { bound: { consumer, type }, caches: { claims } }: ExecutionContext,
  { ref, uid }: StepOf<"unmarkConsumer">,
  signal: AbortSignal,
): Promise<undefined> {
  const patch = unmarkPatch({ ...claims.get(keyOfRef(ref))?.metadata, uid });
  try {
    const answer = await consumer.client.mergePatch<DynamicObject>(type, ref, patch, {
      fieldManager,
      signal,
    });
    claims.wrote(answer);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function deleteConsumer(
  { bound: { consumer, type } }: ExecutionContext,
  { ref, uid }: StepOf<"deleteConsumer">,
  signal: AbortSignal,
): Promise<undefined> {
  await consumer.client.delete(type, ref, { preconditions: { uid }, signal });
}
