/** Finds the instance of a binding, a backup or a restore, never one of another namespace: that belongs to another tenant. */
import { isDeleting } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import { type InstanceReference, type Postgresql, postgresqls } from "./kinds.ts";

/** The instance, or why it cannot be used. */
export type Lookup = { readonly instance: Postgresql } | { readonly problem: string };

/** Looks up a reference. Its kind is spelled in two ways. */
export function lookUp(
  instances: Informer<Postgresql>,
  namespace: string | undefined,
  { apiGroup, kind, name }: InstanceReference,
): Lookup {
  if (apiGroup !== postgresqls.group || (kind !== "PostgreSQL" && kind !== postgresqls.kind))
    return {
      problem: `spec.serviceInstance is a ${kind} of ${apiGroup}; only PostgreSQL of ${postgresqls.group} is made here`,
    };
  const instance = instances.get(`${namespace}/${name}`);
  if (instance === undefined) return { problem: `no instance ${name} in namespace ${namespace}` };
  if (isDeleting(instance)) return { problem: `instance ${name} is being deleted` };
  return { instance };
}
