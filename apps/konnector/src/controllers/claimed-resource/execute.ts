/** Carries out the step of a plan: the only place where claimed objects are written. */
import { fieldManager } from "@klutch/api";
import { isAlreadyExists, isNotFound, type KubeClient } from "@klutch/kube";
import type { DynamicObject, ObjectRef, ResourceType } from "@klutch/kube-core";
import { StaleCacheError } from "@klutch/kube-runtime";
import type { ClaimedStep, Side } from "@klutch/sync";

/** The clients and recorders that execute steps. */
export interface ClaimedExecution {
  readonly type: ResourceType;
  readonly clients: Readonly<Record<Side, KubeClient>>;
  /** Throws when the provider is not the one it was. */
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  /** Called with each object that a server answered with. */
  readonly onAnswer: (side: Side, object: DynamicObject) => void;
}

type StepOf<D extends ClaimedStep["do"]> = Extract<ClaimedStep, { readonly do: D }>;

/** Resolves to `exists` when an object could not be created because one of its name is there. */
export async function executeClaimed(
  context: ClaimedExecution,
  step: ClaimedStep,
  signal: AbortSignal,
): Promise<"done" | "exists"> {
  switch (step.do) {
    case "create":
      return create(context, step, signal);
    case "replace":
      await replace(context, step, signal);
      return "done";
    case "patch":
      await patch(context, step, withUid(step.patch, step.uid), undefined, signal);
      return "done";
    case "writeStatus":
      await patch(context, step, withUid({ status: step.status }, step.uid), "status", signal);
      return "done";
    case "delete":
      await remove(context, step, signal);
      return "done";
    default:
      return step satisfies never;
  }
}

async function create(
  { type, clients, onAnswer }: ClaimedExecution,
  { on, content }: StepOf<"create">,
  signal: AbortSignal,
): Promise<"done" | "exists"> {
  try {
    onAnswer(on, await clients[on].create(type, content, { fieldManager, signal }));
    return "done";
  } catch (error) {
    if (isAlreadyExists(error)) return "exists";
    throw error;
  }
}

async function replace(
  { type, clients, onAnswer }: ClaimedExecution,
  step: StepOf<"replace">,
  signal: AbortSignal,
): Promise<void> {
  const client = clients[step.on];
  const content = step.content;
  if (!step.recreate) {
    onAnswer(step.on, await client.replace(type, content, { fieldManager, signal }));
    return;
  }
  const { uid, resourceVersion: _resourceVersion, ...metadata } = content.metadata;
  const ref = { name: metadata.name ?? "", namespace: metadata.namespace };
  await client.delete(type, ref, { preconditions: { uid }, signal });
  onAnswer(step.on, await client.create(type, { ...content, metadata }, { fieldManager, signal }));
}

/** An object that is gone needs no patch. */
async function patch(
  { type, clients, onAnswer }: ClaimedExecution,
  { on, ref }: { readonly on: Side; readonly ref: ObjectRef },
  body: object,
  subresource: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  try {
    const options = { fieldManager, subresource, signal };
    onAnswer(on, await clients[on].mergePatch<DynamicObject>(type, ref, body, options));
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function remove(
  { type, clients, confirmProvider }: ClaimedExecution,
  { on, ref, uid, unlessFound }: StepOf<"delete">,
  signal: AbortSignal,
): Promise<void> {
  if (unlessFound !== undefined) {
    const source: Side = on === "consumer" ? "provider" : "consumer";
    if (source === "provider") await confirmProvider(signal);
    const found = await clients[source].find(type, unlessFound, { signal });
    if (found !== undefined) throw new StaleCacheError(`${type.kind} ${unlessFound.name}`);
  }
  await clients[on].delete(type, ref, { preconditions: { uid }, signal });
}

/** A patch that touches just this object, not another one of the same name. */
function withUid(patchBody: Readonly<Record<string, unknown>>, uid: string): object {
  const metadata = typeof patchBody["metadata"] === "object" ? patchBody["metadata"] : {};
  return { ...patchBody, metadata: { ...metadata, uid } };
}
