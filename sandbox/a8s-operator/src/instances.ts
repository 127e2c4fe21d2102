/** Makes a server for each Postgresql. */
import type { Clock, KubeClient } from "@klutch/kube";
import { isDeleting, type KubeObject, plainText, refOfObject } from "@klutch/kube-core";
import type { EventRecorder, Informer, Reconcile, ReconcileResult } from "@klutch/kube-runtime";
import { ensureDatabase } from "@klutch/data-servers";
import { databaseOf } from "./database.ts";
import { type Postgresql, postgresqls, type ServiceBinding } from "./kinds.ts";
import { addFinalizer, type Ready, removeFinalizer, report, type Writer } from "./objects.ts";
import { readinessOf } from "./readiness.ts";
import type { Servers } from "./servers.ts";
import { serverSettings } from "./settings.ts";

/** Objects that the reconciler uses. */
export interface InstanceParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly servers: Servers;
  readonly instances: Informer<Postgresql>;
  readonly bindings: Informer<ServiceBinding>;
  readonly recorder: Pick<EventRecorder, "recordWarning">;
}

const longestWords = 500;
/** Wait before standbys that catch up are looked at again. */
const waitMs = 1_000;
/** Wait before standbys that follow are looked at again. The end of their processes is noticed at once. */
const lookMs = 15_000;

/** Returns the reconcile function, by the key of the instance. */
export function createInstanceReconcile(parts: InstanceParts): Reconcile {
  const { client, clock, servers, instances } = parts;
  return async (key, { signal }) => {
    const instance = instances.get(key);
    if (instance === undefined) {
      await servers.keepOnly(uidsOf(instances));
      return undefined;
    }
    const writer: Writer = { client, clock, type: postgresqls, signal };
    if (isDeleting(instance)) {
      await remove(parts, writer, instance);
      return undefined;
    }
    await addFinalizer(writer, instance);
    return run(parts, writer, instance);
  };
}

/** Tells whether the binding names this instance, which must be in its own namespace. */
export function isOf(binding: ServiceBinding, instance: KubeObject): boolean {
  const { namespace, name } = refOfObject(instance);
  return binding.metadata.namespace === namespace && binding.spec.instance.name === name;
}

async function run(
  { servers }: InstanceParts,
  writer: Writer,
  instance: Postgresql,
): Promise<ReconcileResult | undefined> {
  const { replicas, parameters = {} } = instance.spec;
  const uid = instance.metadata.uid ?? "";
  try {
    const settings = serverSettings(parameters);
    await servers.with(uid, async () => ensureDatabase(databaseOf(await servers.start(uid, settings))));
  } catch (error) {
    const ready = { isReady: false, reason: "ServerFailed", message: wordsOf(error) };
    await report(writer, instance, ready, { clusterStatus: "Progressing", readyReplicas: 0 });
    throw error;
  }
  const say = (ready: Ready, readyReplicas: number): Promise<void> =>
    report(writer, instance, ready, { clusterStatus: "Running", readyReplicas });
  try {
    const following = await servers.with(uid, () => servers.follow(uid, replicas - 1));
    const readiness = readinessOf({ replicas, following });
    await say(readiness, 1 + (following ?? 0));
    return replicas === 1 ? undefined : { requeueAfterMs: readiness.isReady ? lookMs : waitMs };
  } catch (error) {
    await say({ isReady: false, reason: "StandbyFailed", message: wordsOf(error) }, 1);
    throw error;
  }
}

async function remove(parts: InstanceParts, writer: Writer, instance: Postgresql): Promise<void> {
  const { servers, bindings, recorder } = parts;
  const bound = [...bindings.list()].filter((binding) => isOf(binding, instance));
  if (bound.length > 0) {
    const names = bound.map(({ metadata }) => metadata.name).join(", ");
    const message = `still bound by ${names}; delete these ServiceBindings first`;
    recorder.recordWarning({ ...instance }, "StillBound", message);
    return;
  }
  const uid = instance.metadata.uid ?? "";
  await servers.with(uid, () => servers.remove(uid));
  await removeFinalizer(writer, instance);
}

function uidsOf(instances: Informer<Postgresql>): ReadonlySet<string> {
  return new Set([...instances.list()].map(({ metadata }) => metadata.uid ?? ""));
}

function wordsOf(error: unknown): string {
  return plainText(error instanceof Error ? error.message : String(error), longestWords);
}
