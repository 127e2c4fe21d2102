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
import { connectionIsMissing, createManagedReconcile, keysOfManagedChange } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import { jsonEqual } from "@klutch/kube-core";
import { Controller, Informer, type Manager } from "@klutch/kube-runtime";
import { acceptLossAnnotation, type Losses } from "./loss.ts";
import { Brokers } from "./brokers.ts";
import { wasNeverBound, wasNeverProvisioned } from "./existence.ts";
import { createHealthReconcile } from "./health.ts";
import { missingOf, noteAnnotations } from "./notes.ts";
import { ServiceBindingClient } from "./service-binding.ts";
import { ServiceInstanceClient } from "./service-instance.ts";
import { brokerOf, checkServiceType, configNameOf } from "./service-type.ts";
import { ensureUsage } from "./usage.ts";

/** What the provider needs besides the Manager's runtime. */
export interface ProviderOptions {
  readonly client: KubeClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pollIntervalMs: number;
  /** Time between two looks of which both must find a resource gone at its broker. Default 30 000. */
  readonly confirmLossMs?: number | undefined;
  readonly workers: number;
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

/** Adds caches and controllers of the managed kinds. */
export function addProvider(manager: Manager, options: ProviderOptions): void {
  const { client, pollIntervalMs, confirmLossMs = 30_000, workers } = options;
  const { logger, metrics, clock, random } = manager.runtime;
  const brokers = manager.own(new Brokers({ client, clock, env: options.env }));
  const instances = new Informer<ServiceInstance>({
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
  const bindings = new Informer<ManagedServiceBinding>({
    client,
    type: managedServiceBindings,
    logger,
    indexes: { [byClaim]: (binding) => instanceKeys(binding) },
  });
  const configs = new Informer<ProviderConfig>({ client, type: providerConfigs, logger });
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
  manager.add(instances, bindings, configs, instanceController, bindingController, healthController);
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
