/** What all reconcilers do with their objects. */
import { isNotFound, type KubeClient } from "@klutch/kube";
import {
  contains,
  type KubeObject,
  type NewCondition,
  refOfObject,
  type ResourceType,
  type StandardCondition,
  withCondition,
} from "@klutch/kube-core";

/** Holds an object until what was made for it is gone. */
const finalizer = "a8s.anynines.com/operator";

/** Where objects of one type are written. */
export interface Writer {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly signal: AbortSignal;
}

/** From here on the object does not go before `removeFinalizer`. */
export async function addFinalizer(writer: Writer, object: KubeObject): Promise<void> {
  const { finalizers = [] } = object.metadata;
  if (!finalizers.includes(finalizer)) await writeFinalizers(writer, object, [...finalizers, finalizer]);
}

/** Lets the object go. */
export async function removeFinalizer(writer: Writer, object: KubeObject): Promise<void> {
  const { finalizers = [] } = object.metadata;
  if (!finalizers.includes(finalizer)) return;
  try {
    await writeFinalizers(
      writer,
      object,
      finalizers.filter((name) => name !== finalizer),
    );
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

/** Writes these fields of the status, unless they are so already. */
export async function writeStatus(
  { client, type, signal }: Writer,
  object: KubeObject,
  status: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (contains(object.status, status)) return;
  // Of this object, and not of one that took its name.
  const patch = { metadata: { uid: object.metadata.uid }, status };
  await client.mergePatch(type, refOfObject(object), patch, { signal, subresource: "status" });
}

type StandardConditionNow = Omit<StandardCondition, "lastTransitionTime">;

/** The conditions with `Ready` as it is now; `now` is RFC 3339. */
export function withReady(
  object: KubeObject & {
    readonly status?: { readonly conditions?: readonly StandardCondition[] | undefined } | undefined;
  },
  ready: Omit<NewCondition, "type" | "severity"> & { readonly reason: string },
  now: string,
): readonly StandardCondition[] {
  const { generation } = object.metadata;
  const condition: StandardConditionNow = { ...ready, type: "Ready", observedGeneration: generation };
  return withCondition(object.status?.conditions, condition, now);
}
