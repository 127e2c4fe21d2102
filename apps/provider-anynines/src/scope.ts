/** The two scopes of managed resources. They differ in their kinds only; the same code runs once for each scope. */
import {
  backups,
  clusterProviderConfigs,
  managedServiceBindings,
  namespacedBackups,
  namespacedProviderConfigs,
  namespacedRestores,
  namespacedServiceBindings,
  namespacedServiceInstances,
  providerConfigs,
  restores,
  serviceInstances,
} from "@klutch/api";
import type { ResourceType } from "@klutch/kube-core";

/** The kinds of one scope. */
export interface Scope {
  readonly instances: ResourceType;
  readonly bindings: ResourceType;
  readonly backups: ResourceType;
  readonly restores: ResourceType;
  /** The kinds of ProviderConfig that its managed resources may name: a cluster-scoped one, and perhaps a namespaced one. */
  readonly configs: readonly ResourceType[];
}

/** Crossplane's resource model v1: composed for claims, by cluster-scoped composites. */
export const clusterScoped: Scope = {
  instances: serviceInstances,
  bindings: managedServiceBindings,
  backups,
  restores,
  configs: [providerConfigs],
};

/** Resource model v2: composed by namespaced composites, or made by hand. */
export const namespaced: Scope = {
  instances: namespacedServiceInstances,
  bindings: namespacedServiceBindings,
  backups: namespacedBackups,
  restores: namespacedRestores,
  configs: [clusterProviderConfigs, namespacedProviderConfigs],
};

/** Both. */
export const scopes: readonly Scope[] = [clusterScoped, namespaced];

/** Name of the controller of a kind, in logs and as label of metrics. `name`: of what it does, when that is not to reconcile the kind. */
export function controllerName(type: ResourceType, name: string = type.kind.toLowerCase()): string {
  return type.namespaced ? `namespaced-${name}` : name;
}
