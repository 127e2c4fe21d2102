/** What the provider knows of its kinds without asking, and how instances, bindings and brokers find each other in it. */
import {
  claimNameLabel,
  claimNamespaceLabel,
  type ManagedServiceBinding,
  managedServiceBindings,
  type ProviderConfig,
  providerConfigs,
  type ServiceInstance,
  serviceInstances,
} from "@klutch/api";
import { type Clock, type KubeClient, systemClock } from "@klutch/kube";
import { jsonEqual } from "@klutch/kube-core";
import { Informer } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { wasNeverBound, wasNeverProvisioned } from "./existence.ts";
import { acceptLossAnnotation, type Losses } from "./loss.ts";
import { missingOf } from "./critical-annotations.ts";
import { configNameOf } from "./broker/service-type.ts";

/** The caches of the managed kinds and of their brokers. */
export interface ProviderCaches {
  readonly instances: Informer<ServiceInstance>;
  readonly bindings: Informer<ManagedServiceBinding>;
  readonly configs: Informer<ProviderConfig>;
}

const byClaim = "claim";
const byConfig = "config";
const missingByConfig = "missing";

/** Not started. */
export function createCaches(client: KubeClient, logger: Logger, clock: Clock = systemClock): ProviderCaches {
  return {
    instances: new Informer<ServiceInstance>({
      client,
      type: serviceInstances,
      logger,
      clock,
      indexes: {
        [byClaim]: claimKeys,
        [byConfig]: (instance) => (wasNeverProvisioned(instance) ? [] : [configNameOf(instance)]),
        [missingByConfig]: (instance) =>
          missingOf(instance.metadata.annotations) === undefined ? [] : [configNameOf(instance)],
      },
    }),
    bindings: new Informer<ManagedServiceBinding>({
      client,
      type: managedServiceBindings,
      logger,
      clock,
      indexes: { [byClaim]: instanceKeys },
    }),
    configs: new Informer<ProviderConfig>({ client, type: providerConfigs, logger, clock }),
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
    .map(({ metadata }) => metadata.labels?.[claimNameLabel] ?? metadata.name ?? "");
}

/** The instance that a binding names; undefined when there is none, or more than one. */
export function instanceOf(
  { instances }: ProviderCaches,
  binding: ManagedServiceBinding,
): ServiceInstance | undefined {
  const found = instanceKeys(binding).flatMap((key) => instances.byIndex(byClaim, key));
  return found.length === 1 ? found[0] : undefined;
}

/** How many instances of the same broker are missing at it; this one is, though the cache may not say so yet. */
export function lossesOf({ instances, configs }: ProviderCaches, instance: ServiceInstance): Losses {
  const config = configNameOf(instance);
  const others = instances
    .byIndex(missingByConfig, config)
    .filter(({ metadata }) => metadata.uid !== instance.metadata.uid);
  const all = instances.byIndex(byConfig, config).length;
  const accepted = configs.get(config)?.metadata.annotations?.[acceptLossAnnotation] === "true";
  return { config, missing: others.length + 1, all, accepted };
}

/** Whether nothing changed of an instance that a binding asks it for. */
export function isUnchangedForBindings(object: ServiceInstance, previous: ServiceInstance): boolean {
  const asked = ({ metadata, status }: ServiceInstance): readonly unknown[] => {
    const { instanceId, serviceId, planId, state } = status?.atProvider ?? {};
    return [instanceId, serviceId, planId, state, metadata.deletionTimestamp, metadata.labels];
  };
  return jsonEqual(asked(object), asked(previous));
}

/** `<claim namespace>/<claim name>` of the claim that an instance was made for. */
function claimKeys({ metadata }: ServiceInstance): readonly string[] {
  const { [claimNameLabel]: name, [claimNamespaceLabel]: namespace } = metadata.labels ?? {};
  return name === undefined || namespace === undefined ? [] : [`${namespace}/${name}`];
}

/** `<claim namespace>/<claim name>` of the instance that a binding names: always in the binding's own claim namespace. */
function instanceKeys(binding: ManagedServiceBinding): readonly string[] {
  const namespace = binding.metadata.labels?.[claimNamespaceLabel];
  return namespace === undefined ? [] : [`${namespace}/${binding.spec.forProvider.instanceName}`];
}
