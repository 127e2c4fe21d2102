/** Makes a server of each Postgresql. */
import type { KubeClient } from "@klutch/kube";
import { isDeleting, type KubeObject, refOfObject } from "@klutch/kube-core";
import type { EventRecorder, Informer, Reconcile } from "@klutch/kube-runtime";
import { ensureDatabase } from "../database/database.ts";
import { type Postgresql, postgresqls, type ServiceBinding } from "../kinds.ts";
import { addFinalizer, removeFinalizer, type Writer, writeStatus } from "../objects.ts";
import type { Servers } from "./servers.ts";
import { serverSettings } from "./settings.ts";

/** What the reconciler works with. */
export interface InstanceParts {
  readonly client: KubeClient;
  readonly servers: Servers;
  readonly instances: Informer<Postgresql>;
  readonly bindings: Informer<ServiceBinding>;
  readonly recorder: Pick<EventRecorder, "recordWarning">;
}

/** By the key of the instance. */
export function createInstanceReconcile(parts: InstanceParts): Reconcile {
  const { client, servers, instances } = parts;
  return async (key, { signal }) => {
    const instance = instances.get(key);
    if (instance === undefined) return servers.keepOnly(uidsOf(instances));
    const writer: Writer = { client, type: postgresqls, signal };
    if (isDeleting(instance)) return remove(parts, writer, instance);
    await addFinalizer(writer, instance);
    return run(parts, writer, instance);
  };
}

/** Whether the binding is of this instance: of the same name, in its own namespace. */
export function isOf(binding: ServiceBinding, instance: KubeObject): boolean {
  const { namespace, name } = refOfObject(instance);
  return binding.metadata.namespace === namespace && binding.spec.instance.name === name;
}

async function run(parts: InstanceParts, writer: Writer, instance: Postgresql): Promise<void> {
  const { servers, recorder } = parts;
  const { replicas, parameters = {} } = instance.spec;
  const uid = instance.metadata.uid ?? "";
  if (replicas > 1)
    warn(
      recorder,
      instance,
      "OneServer",
      `spec.replicas is ${replicas}, but this operator runs one server for each instance; it will not become ready. Use a plan of one server`,
    );
  try {
    await servers.with(uid, async () => ensureDatabase(await servers.start(uid, serverSettings(parameters))));
  } catch (error) {
    warn(recorder, instance, "ServerNotRunning", error instanceof Error ? error.message : String(error));
    await writeStatus(writer, instance, { clusterStatus: "Progressing", readyReplicas: 0 });
    throw error;
  }
  await writeStatus(writer, instance, { clusterStatus: "Running", readyReplicas: 1 });
}

async function remove(parts: InstanceParts, writer: Writer, instance: Postgresql): Promise<void> {
  const { servers, bindings, recorder } = parts;
  const bound = [...bindings.list()].filter((binding) => isOf(binding, instance));
  if (bound.length > 0) {
    const names = bound.map(({ metadata }) => metadata.name).join(", ");
    warn(recorder, instance, "StillBound", `still bound by ${names}; delete these ServiceBindings first`);
    return;
  }
  const uid = instance.metadata.uid ?? "";
  await servers.with(uid, () => servers.remove(uid));
  await removeFinalizer(writer, instance);
}

function warn(
  recorder: InstanceParts["recorder"],
  instance: Postgresql,
  reason: string,
  message: string,
): void {
  recorder.recordWarning({ ...instance }, reason, message);
}

function uidsOf(instances: Informer<Postgresql>): ReadonlySet<string> {
  return new Set([...instances.list()].map(({ metadata }) => metadata.uid ?? ""));
}
