/** Objects that all reconcilers share, and the way from an object to the server of its instance. */
import type { Clock, KubeClient } from "@klutch/kube";
import { isDeleting } from "@klutch/kube-core";
import type { EventRecorder, Informer } from "@klutch/kube-runtime";
import type { Server } from "./database.ts";
import { type InstanceReference, type Postgresql, postgresqls, type ServiceBinding } from "./kinds.ts";
import type { Servers } from "./servers.ts";

/** Objects that reconcilers use. */
export interface OperatorParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly servers: Servers;
  readonly instances: Informer<Postgresql>;
  readonly bindings: Informer<ServiceBinding>;
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
  { apiGroup, kind, name }: InstanceReference,
  work: (server: Server) => Promise<string | undefined>,
): Promise<string | undefined> {
  // The kind is spelled in two ways.
  if (apiGroup !== postgresqls.group || (kind !== "PostgreSQL" && kind !== postgresqls.kind))
    return `spec.serviceInstance is a ${kind} of ${apiGroup}; only PostgreSQL of ${postgresqls.group} is made here`;
  const instance = instances.get(`${namespace}/${name}`);
  if (instance === undefined) return `no instance ${name} in namespace ${namespace}`;
  if (isDeleting(instance)) return `instance ${name} is being deleted`;
  return servers.with(instance.metadata.uid ?? "", async (server) =>
    server === undefined ? `instance ${name} is not running yet` : work(server),
  );
}
