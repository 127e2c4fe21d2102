/** Indexes the provider's kinds in memory, so that instances, bindings and brokers find each other without a request. */
import type { Backup, ManagedServiceBinding, ServiceInstance } from "@klutch/api";
import { jsonEqual } from "@klutch/kube-core";
import { type Change, Informer, type InformerOptions } from "@klutch/kube-runtime";
import { claimKeys, claimNamespaceOf, keysBeside, shownName } from "../claims/names.ts";
import { acceptLossAnnotation, type Losses } from "../operations/loss.ts";
import { missingOf, wasNeverBound, wasNeverProvisioned } from "../records/annotations.ts";
import { ConfigCaches } from "../provider-config/clients.ts";
import { configNameOf, configTarget, shownConfig } from "../provider-config/reference.ts";
import { clusterScoped, type Scope } from "../scope.ts";
import { usedConfigs, usersIndex } from "../provider-config/use.ts";

/** The caches of the managed kinds of one scope and of their brokers. Nothing in it leads to the other scope. */
export interface ProviderCaches {
  readonly scope: Scope;
  readonly instances: Informer<ServiceInstance>;
  readonly bindings: Informer<ManagedServiceBinding>;
  readonly configs: ConfigCaches;
}

const byClaim = "claim";
const byNamespace = "namespace";
const byConfig = "config";
const missingByConfig = "missing";

/** Dependencies of the caches; `scope`: default the cluster-scoped one. */
export type CacheOptions = Pick<
  InformerOptions<ServiceInstance>,
  "client" | "logger" | "clock" | "random" | "mayBeAbsent"
> & {
  readonly scope?: Scope | undefined;
};

/** Not started. */
export function createCaches({ scope = clusterScoped, ...options }: CacheOptions): ProviderCaches {
  return {
    scope,
    instances: new Informer<ServiceInstance>({
      ...options,
      type: scope.instances,
      indexes: {
        [byClaim]: claimKeys,
        [byNamespace]: (instance) => [claimNamespaceOf(instance) ?? ""],
        [usersIndex]: usedConfigs,
        [byConfig]: (instance) => (wasNeverProvisioned(instance) ? [] : [configNameOf(instance)]),
        [missingByConfig]: (instance) =>
          missingOf(instance.metadata.annotations) === undefined ? [] : [configNameOf(instance)],
      },
    }),
    bindings: new Informer<ManagedServiceBinding>({
      ...options,
      type: scope.bindings,
      indexes: { [byClaim]: instanceKeys, [usersIndex]: usedConfigs },
    }),
    configs: new ConfigCaches(scope.configs, options),
  };
}

/** The bindings of the claim that the instance was made for. */
export function bindingsOfClaim(
  { bindings }: ProviderCaches,
  instance: ServiceInstance,
): readonly ManagedServiceBinding[] {
  return claimKeys(instance).flatMap((key) => bindings.byIndex(byClaim, key));
}

/** Names of the bindings that the instance's broker may know. */
export function namesOfBindings(caches: ProviderCaches, instance: ServiceInstance): readonly string[] {
  return bindingsOfClaim(caches, instance)
    .filter((binding) => !wasNeverBound(binding))
    .map(shownName);
}

/** The instance that a binding names; undefined when there is none, or more than one. */
export function instanceOf(
  caches: ProviderCaches,
  binding: ManagedServiceBinding,
): ServiceInstance | undefined {
  const found = instancesOf(caches, binding);
  return found.length === 1 ? found[0] : undefined;
}

/** The instances of the claim that a binding or a backup names: one at most, when all is well. */
export function instancesOf(
  { instances }: ProviderCaches,
  user: ManagedServiceBinding | Backup,
): readonly ServiceInstance[] {
  return instanceKeys(user).flatMap((key) => instances.byIndex(byClaim, key));
}

/** Names of the claims of instances beside the claim of a binding. */
export function namesBeside(
  { instances }: ProviderCaches,
  binding: ManagedServiceBinding,
): readonly string[] {
  const namespace = claimNamespaceOf(binding);
  return namespace === undefined ? [] : instances.byIndex(byNamespace, namespace).map(shownName);
}

/** Reports whether the instance of a backup no longer exists, here or at its broker, so that no request can succeed. */
export function isInstanceGone(caches: ProviderCaches, backup: Backup): boolean {
  const found = instancesOf(caches, backup);
  if (found.length === 0) return instanceKeys(backup).length > 0;
  return found.every(({ metadata }) => missingOf(metadata.annotations)?.confirmed === true);
}

/** Counts the instances that are missing at the same broker, this one included, which the cache may not show yet. */
export function lossesOf({ instances, configs }: ProviderCaches, instance: ServiceInstance): Losses {
  const config = configNameOf(instance);
  const others = instances
    .byIndex(missingByConfig, config)
    .filter(({ metadata }) => metadata.uid !== instance.metadata.uid);
  const all = instances.byIndex(byConfig, config).length;
  const accepted = configs.get(config)?.metadata.annotations?.[acceptLossAnnotation] === "true";
  const [shown, target] = [shownConfig(instance), configTarget(instance)];
  return { config: shown, target, missing: others.length + 1, all, accepted };
}

/** Returns the facts about an instance that a binding or a backup needs. */
export function askedForBindings({ metadata, status }: ServiceInstance): readonly unknown[] {
  const { instanceId, serviceId, planId, state } = status?.atProvider ?? {};
  return [instanceId, serviceId, planId, state, metadata.deletionTimestamp, metadata.labels];
}

/** Returns whether an update left all fields that `asked` names as they were. */
export function isUnchanged<T>(change: Change<T>, asked: (object: T) => readonly unknown[]): boolean {
  return change.type === "updated" && jsonEqual(asked(change.object), asked(change.previous));
}

/** Returns the keys of the claim of the named instance. */
function instanceKeys(user: ManagedServiceBinding | Backup): readonly string[] {
  return keysBeside(user, user.spec.forProvider.instanceName);
}
