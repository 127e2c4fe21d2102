/** Parts that all reconcilers share: the way from an object to the server of its instance, finalizers and status of the operator's objects. */
import { type Clock, isNotFound, type KubeClient } from "@klutch/kube";
import * as core from "@klutch/kube-core";
import type { EventRecorder, Informer } from "@klutch/kube-runtime";
import type { Server } from "./database.ts";
import * as kinds from "./kinds.ts";
import type { Servers } from "./servers.ts";

/** Objects that reconcilers use. */
export interface OperatorParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly servers: Servers;
  readonly instances: Informer<kinds.Postgresql>;
  readonly bindings: Informer<kinds.ServiceBinding>;
  readonly recorder: Pick<EventRecorder, "recordWarning">;
  /** Holds the dumps. */
  readonly folder: string;
}

/**
 * Works with the server of an instance, never with one of another namespace: that belongs to another tenant. Returns why the work has to wait,
 * which `work` may say, too.
 */
export async function withServer(
  { instances, servers }: OperatorParts,
  namespace: string | undefined,
  { apiGroup, kind, name }: kinds.InstanceReference,
  work: (server: Server) => Promise<string | undefined>,
): Promise<string | undefined> {
  // The kind is spelled in two ways.
  if (apiGroup !== kinds.postgresqls.group || (kind !== "PostgreSQL" && kind !== kinds.postgresqls.kind))
    return `spec.serviceInstance is a ${kind} of ${apiGroup}; only PostgreSQL of ${kinds.postgresqls.group} is made here`;
  const instance = instances.get(`${namespace}/${name}`);
  if (instance === undefined) return `no instance ${name} in namespace ${namespace}`;
  if (core.isDeleting(instance)) return `instance ${name} is being deleted`;
  return servers.with(instance.metadata.uid ?? "", async (server) =>
    server === undefined ? `instance ${name} is not running yet` : work(server),
  );
}

/** Keeps an object until everything that was made for it is gone. */
const finalizer = "a8s.anynines.com/operator";

/** The condition `Ready`, in one word and for people. */
export interface Ready {
  readonly isReady: boolean;
  readonly reason: string;
  readonly message?: string | undefined;
}

/** Writes finalizer and status of the objects of one resource type. */
export interface Writer {
  readonly signal: AbortSignal;
  /** Keeps the object until `removeFinalizer`. */
  addFinalizer(object: core.KubeObject): Promise<void>;
  /** Lets the object go. */
  removeFinalizer(object: core.KubeObject): Promise<void>;
  /** Writes `Ready`, its generation and these fields of the status, unless they are the same already. */
  report(object: kinds.Reported, ready: Ready, fields?: Readonly<Record<string, unknown>>): Promise<void>;
}

/** Returns the writer for one reconcile. */
export function writerOf(
  { client, clock }: OperatorParts,
  type: core.ResourceType,
  signal: AbortSignal,
): Writer {
  const writeFinalizers = async (object: core.KubeObject, finalizers: readonly string[]): Promise<void> => {
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, finalizers } };
    await client.mergePatch(type, core.refOfObject(object), patch, { signal });
  };
  return {
    signal,
    async addFinalizer(object) {
      const { finalizers = [] } = object.metadata;
      if (!finalizers.includes(finalizer)) await writeFinalizers(object, [...finalizers, finalizer]);
    },
    async removeFinalizer(object) {
      const { finalizers = [] } = object.metadata;
      if (!finalizers.includes(finalizer)) return;
      const others = finalizers.filter((name) => name !== finalizer);
      await writeFinalizers(object, others).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    },
    async report(object, { isReady, reason, message }, fields) {
      const { uid, generation: observedGeneration } = object.metadata;
      const status = isReady ? "True" : "False";
      const ready: Omit<core.StandardCondition, "lastTransitionTime"> = {
        type: "Ready",
        status,
        reason,
        message,
        observedGeneration,
      };
      const conditions = core.withCondition(object.status?.conditions, ready, core.wholeSeconds(clock.now()));
      const wanted = { ...fields, observedGeneration, conditions };
      if (core.contains(object.status, wanted)) return;
      // The uid protects a new object of the same name.
      const patch = { metadata: { uid }, status: wanted };
      await client.mergePatch(type, core.refOfObject(object), patch, { signal, subresource: "status" });
    },
  };
}
