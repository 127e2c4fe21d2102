/** Finds the instance that a binding, a backup or a restore is about. Never one of another namespace: that is another tenant's. */
import { isDeleting } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import { type InstanceReference, type Postgresql, postgresqls } from "../kinds.ts";

/** The instance, or why there is none to work with. */
export type Lookup = { readonly instance: Postgresql } | { readonly problem: string };

/** As a backup or a restore names it. Its kind is spelled in two ways. */
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
