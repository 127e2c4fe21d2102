/** The kinds that the operator serves, as far as a8s compositions write and read them. */
import type { KubeObject, ResourceType, StandardCondition } from "@klutch/kube-core";

const version = "v1beta3";
const instanceGroup = "postgresql.anynines.com";
const backupGroup = "backups.anynines.com";

/** An object of which the operator reports conditions. */
export interface Reported extends KubeObject {
  readonly status?: { readonly conditions?: readonly StandardCondition[] | undefined } | undefined;
}

/** A database server, as far as the operator reads it. */
export interface Postgresql extends Reported {
  readonly spec: {
    readonly replicas: number;
    readonly parameters?: Readonly<Record<string, number | string>> | undefined;
  };
}

/** A login for a database server. */
export interface ServiceBinding extends Reported {
  readonly spec: { readonly instance: Record<"apiVersion" | "kind" | "name" | "namespace", string> };
}

/** The instance of a Backup or a Restore, in the same namespace. */
export type InstanceReference = Readonly<Record<"apiGroup" | "kind" | "name", string>>;

/** A dump of a database. */
export interface Backup extends Reported {
  readonly spec: { readonly serviceInstance: InstanceReference };
}

/** Replaces the data of a database by a dump. */
export interface Restore extends Reported {
  readonly spec: { readonly serviceInstance: InstanceReference; readonly backupName: string };
}

function typeOf(group: string, plural: string, kind: string): ResourceType {
  return { group, version, plural, kind, namespaced: true };
}

export const postgresqls: ResourceType = typeOf(instanceGroup, "postgresqls", "Postgresql");
const bindingGroup = "servicebindings.anynines.com";
export const serviceBindings: ResourceType = typeOf(bindingGroup, "servicebindings", "ServiceBinding");
export const backups: ResourceType = typeOf(backupGroup, "backups", "Backup");
export const restores: ResourceType = typeOf(backupGroup, "restores", "Restore");
