/** Wires the managed kinds: caches, reconcilers, controllers. */
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
import {
  connectionIsMissing,
  createManagedReconcile,
  keysOfManagedChange,
  type Managed,
} from "@klutch/crossplane";
import { type Clock, type KubeClient, type Random, systemClock, systemRandom } from "@klutch/kube";
import { jsonEqual } from "@klutch/kube-core";
import { Controller, Informer, type LeaderElector, runManager } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { acceptLossAnnotation, type Losses } from "./loss.ts";
import { Brokers } from "./broker/brokers.ts";
import { wasNeverBound, wasNeverProvisioned } from "./existence.ts";
import { createHealthReconcile } from "./provider-config-health.ts";
import { missingOf, noteAnnotations } from "./critical-annotations.ts";
import { ServiceBindingClient } from "./service-binding/external-client.ts";
import { ServiceInstanceClient } from "./service-instance/external-client.ts";
import { brokerOf, checkServiceType, configNameOf } from "./broker/service-type.ts";
import { ensureUsage } from "./usage.ts";

/** What the readiness probe asks of a cache. */
export type ObservedCache = Pick<Informer<Managed>, "type" | "synced" | "status">;

/** What the provider runs with. */
export interface ProviderOptions {
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pollIntervalMs: number;
  /** Time between two looks of which both must find a resource gone at its broker. Default 30 000. */
  readonly confirmLossMs?: number | undefined;
  readonly workers: number;
  readonly elector?: LeaderElector | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly signal: AbortSignal;
  /** Gets the caches, for the readiness probe. */
  readonly onCaches?: ((caches: readonly ObservedCache[]) => void) | undefined;
}

/** First wait after a broker's error; doubles up to a minute. */
const firstRetryMs = 1_000;
const byClaim = "claim";
const byConfig = "config";
const missingByConfig = "missing";
const claimIndex = (labels: Readonly<Record<string, string>> | undefined): readonly string[] => {
  const { [claimNameLabel]: name, [claimNamespaceLabel]: namespace } = labels ?? {};
  return name === undefined || namespace === undefined ? [] : [`${namespace}/${name}`];
};

/** Runs until the signal aborts. */
export async function runProvider(options: ProviderOptions): Promise<void> {
  const { client, logger, metrics, pollIntervalMs, confirmLossMs = 30_000, workers, signal } = options;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  await using brokers = new Brokers({ client, clock, env: options.env });
  await using instances = new Informer<ServiceInstance>({
    client,
    type: serviceInstances,
    logger,
    indexes: {
      [byClaim]: ({ metadata }) => claimIndex(metadata.labels),
      [byConfig]: (instance) => (wasNeverProvisioned(instance) ? [] : [configNameOf(instance)]),
      [missingByConfig]: (instance) =>
        missingOf(instance.metadata.annotations) === undefined ? [] : [configNameOf(instance)],
    },
  });
  await using bindings = new Informer<ManagedServiceBinding>({
    client,
    type: managedServiceBindings,
    logger,
    indexes: { [byClaim]: (binding) => instanceKeys(binding) },
  });
  await using configs = new Informer<ProviderConfig>({ client, type: providerConfigs, logger });
  options.onCaches?.([instances, bindings]);
  const usages = new Set<string>();
  const common = { client, clock, random, pollIntervalMs };
  const patient = { workers, baseDelayMs: firstRetryMs, logger, metrics, clock, random };
  const instanceController = new Controller({
    ...patient,
    name: "serviceinstance",
    reconcile: createManagedReconcile<ServiceInstance>({
      ...common,
      type: serviceInstances,
      informer: instances,
      neverCreated: wasNeverProvisioned,
      connect: async (managed, { record, signal: callSignal }) => {
        await ensureUsage(client, managed, usages, { signal: callSignal });
        const broker = await brokers.get(configNameOf(managed), { signal: callSignal });
        return new ServiceInstanceClient({
          managed,
          broker,
          record,
          clock,
          bindings: () => bindingsOf(bindings, managed),
          losses: () => lossesOf(instances, configs, managed),
          confirmLossMs,
        });
      },
    }),
  });
  const bindingController = new Controller({
    ...patient,
    name: "servicebinding",
    reconcile: createManagedReconcile<ManagedServiceBinding>({
      ...common,
      type: managedServiceBindings,
      informer: bindings,
      neverCreated: wasNeverBound,
      connect: async (managed, { record, signal: callSignal }) => {
        if (wasNeverBound(managed)) checkServiceType(managed, instanceOf(instances, managed));
        await ensureUsage(client, managed, usages, { signal: callSignal });
        const broker = await brokerOf(brokers, managed, callSignal);
        return new ServiceBindingClient({
          managed,
          broker,
          record,
          clock,
          instance: () => instanceOf(instances, managed),
          secretIsMissing: (call) => connectionIsMissing(client, managed, call),
          confirmLossMs,
        });
      },
    }),
  });
  const healthController = new Controller({
    name: "providerconfig-health",
    workers: 2,
    logger,
    metrics,
    reconcile: createHealthReconcile({ client, informer: configs, brokers, clock }),
  });
  const ownKey = keysOfManagedChange(noteAnnotations);
  instanceController.watch(instances, ownKey);
  bindingController.watch(bindings, ownKey);
  // A binding that waits for its instance goes on at once, and an instance that waits for its bindings too.
  bindingController.watch(instances, (change) => {
    if (change.type === "updated" && looksTheSameToBindings(change.object, change.previous)) return [];
    return claimIndex(change.object.metadata.labels).flatMap((key) =>
      bindings.byIndex(byClaim, key).map(({ metadata }) => metadata.name ?? ""),
    );
  });
  instanceController.watch(bindings, ({ type, object }) => {
    const instance = type === "deleted" ? instanceOf(instances, object) : undefined;
    return instance?.metadata.name === undefined ? [] : [instance.metadata.name];
  });
  healthController.watch(configs);
  const controllers = [instanceController, bindingController, healthController];
  await runManager({
    informers: [instances, bindings, configs],
    controllers,
    elector: options.elector,
    logger,
    signal,
  });
}

/** Whether nothing changed of an instance that a binding asks it for. */
function looksTheSameToBindings(object: ServiceInstance, previous: ServiceInstance): boolean {
  const asked = ({ metadata, status }: ServiceInstance): readonly unknown[] => {
    const { instanceId, serviceId, planId, state } = status?.atProvider ?? {};
    return [instanceId, serviceId, planId, state, metadata.deletionTimestamp, metadata.labels];
  };
  return jsonEqual(asked(object), asked(previous));
}

/** `<claim namespace>/<claim name>` of the instance that a binding names: always in the binding's own claim namespace. */
function instanceKeys(binding: ManagedServiceBinding): readonly string[] {
  const namespace = binding.metadata.labels?.[claimNamespaceLabel];
  return namespace === undefined ? [] : [`${namespace}/${binding.spec.forProvider.instanceName}`];
}

function instanceOf(
  instances: Informer<ServiceInstance>,
  binding: ManagedServiceBinding,
): ServiceInstance | undefined {
  const found = instanceKeys(binding).flatMap((key) => instances.byIndex(byClaim, key));
  return found.length === 1 ? found[0] : undefined;
}

/** Names of the bindings that the instance's broker may know. */
function bindingsOf(bindings: Informer<ManagedServiceBinding>, instance: ServiceInstance): readonly string[] {
  const found = claimIndex(instance.metadata.labels).flatMap((key) => bindings.byIndex(byClaim, key));
  return found
    .filter((binding) => !wasNeverBound(binding))
    .map(({ metadata }) => metadata.labels?.[claimNameLabel] ?? metadata.name ?? "");
}

/** How many instances of the same broker are missing at it; this one is, though the cache may not have its note yet. */
function lossesOf(
  instances: Informer<ServiceInstance>,
  configs: Informer<ProviderConfig>,
  instance: ServiceInstance,
): Losses {
  const config = configNameOf(instance);
  const others = instances
    .byIndex(missingByConfig, config)
    .filter(({ metadata }) => metadata.uid !== instance.metadata.uid);
  const all = instances.byIndex(byConfig, config).length;
  const accepted = configs.get(config)?.metadata.annotations?.[acceptLossAnnotation] === "true";
  return { config, missing: others.length + 1, all, accepted };
}
