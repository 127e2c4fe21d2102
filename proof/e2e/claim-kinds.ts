/** Kinds of claims as tests of the whole use them. */
import type { ResourceType } from "@klutch/kube-core";
import { claimResource } from "@klutch/services";

/** Claims of PostgreSQL instances. */
export const instances: ResourceType = claimResource("PostgresqlInstance");
/** Claims of credentials, of any service. */
export const bindings: ResourceType = claimResource("ServiceBinding");
/** Claims of backups, of any service. */
export const backups: ResourceType = claimResource("Backup");
/** Claims of restores, of any service. */
export const restores: ResourceType = claimResource("Restore");

/** All of them. */
export const claimTypes: readonly ResourceType[] = [instances, bindings, backups, restores];

/** Kind of the composites behind claims of a kind. */
export function compositeOf({ plural, kind, ...type }: ResourceType): ResourceType {
  return { ...type, plural: `x${plural}`, kind: `X${kind}`, namespaced: false };
}

/** `spec` of the smallest PostgreSQL instance. */
export const nano = { service: "a9s-postgresql17", plan: "postgresql-single-nano" } as const;

/** Keys of the Secret of a PostgreSQL binding. */
export const credentialKeys: readonly string[] = "host hosts name password port uri username".split(" ");
