/** Writes finalizers and status of the operator's objects. */
import { type Clock, isNotFound, type KubeClient } from "@klutch/kube";
import {
  contains,
  type KubeObject,
  refOfObject,
  type ResourceType,
  type StandardCondition,
  wholeSeconds,
  withCondition,
} from "@klutch/kube-core";
import type { Reported } from "./kinds.ts";

/** Keeps an object until everything that was made for it is gone. */
const finalizer = "a8s.anynines.com/operator";

/** Names the resource type to write, and the client that writes. */
export interface Writer {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Keeps the object until `removeFinalizer`. */
export async function addFinalizer(writer: Writer, object: KubeObject): Promise<void> {
  const { finalizers = [] } = object.metadata;
  if (!finalizers.includes(finalizer)) await writeFinalizers(writer, object, [...finalizers, finalizer]);
}

/** Lets the object go. */
export async function removeFinalizer(writer: Writer, object: KubeObject): Promise<void> {
  const { finalizers = [] } = object.metadata;
  const others = finalizers.filter((name) => name !== finalizer);
  if (others.length === finalizers.length) return;
  try {
    await writeFinalizers(writer, object, others);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function writeFinalizers(
  { client, type, signal }: Writer,
  object: KubeObject,
  finalizers: readonly string[],
): Promise<void> {
  const { uid, resourceVersion } = object.metadata;
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  await client.mergePatch(type, refOfObject(object), patch, { signal });
}

/** The condition `Ready`, in one word and for people. */
export interface Ready {
  readonly isReady: boolean;
  readonly reason: string;
  readonly message?: string | undefined;
}

/** Writes `Ready`, its generation and these fields of the status, unless they are the same already. */
export async function report(
  { client, type, signal, clock }: Writer,
  object: Reported,
  { isReady, reason, message }: Ready,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { uid, generation } = object.metadata;
  const ready: Omit<StandardCondition, "lastTransitionTime"> = {
    type: "Ready",
    status: isReady ? "True" : "False",
    reason,
    message,
    observedGeneration: generation,
  };
  const conditions = withCondition(object.status?.conditions, ready, wholeSeconds(clock.now()));
  const status = { ...fields, observedGeneration: generation, conditions };
  if (contains(object.status, status)) return;
  // The uid protects a new object of the same name.
  const patch = { metadata: { uid }, status };
  await client.mergePatch(type, refOfObject(object), patch, { signal, subresource: "status" });
}
