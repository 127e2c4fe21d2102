/** Adds the provider's caches and controllers to a Manager. */
import type { Backup, ServiceInstance } from "@klutch/api";
import { createManagedStates } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import { createEventRecorder, type EventRecorder, type Manager } from "@klutch/kube-runtime";
import { BackupCaches } from "./caches/backups.ts";
import { createManagers } from "./backup-manager/managers.ts";
import { watchManaged } from "./wakes.ts";
import { createBrokers } from "./broker/brokers.ts";
import { createCaches, type ProviderCaches } from "./caches/instances.ts";
import { createResourceStates, type StateCaches } from "./caches/states.ts";
import {
  healthOnConfigs,
  inUseOnConfigs,
  leftAtBrokers,
  missingOnClaims,
  noticesOnManaged,
  problemsOnClaims,
} from "./claims/events.ts";
import {
  createBackupController,
  createBindingController,
  createInstanceController,
  createRestoreController,
  createVanishedController,
} from "./controllers.ts";
import { createHealthController, createUsersController } from "./provider-config/controllers.ts";
import { type Scope, scopes } from "./scope.ts";
import { createPricesController } from "./usage/cost-per-hour.ts";

/** Dependencies of the provider besides the Manager's runtime. */
export interface ProviderOptions {
  readonly client: KubeClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pollIntervalMs: number;
  /** Time between two observations of which both must find a resource gone at its broker. Default 30 000. */
  readonly confirmLossMs?: number | undefined;
  /** Namespace of the provider, which has the price list. Default `crossplane-system`. */
  readonly namespace?: string | undefined;
  /** Resources of one kind and one broker or backup manager that are worked on at the same time. */
  readonly workers: number;
  /** Namespaces that metrics show each by itself. Default 50. */
  readonly metricsNamespaces?: number | undefined;
}

/** Adds everything that `options` ask for: the same for each scope of managed resources. */
export function addProvider(manager: Manager, options: ProviderOptions): void {
  const { client } = options;
  const recorder = createEventRecorder({ ...manager.runtime, client, component: "provider-anynines" });
  const states = scopes.map((scope) => addScope(manager, options, scope, recorder));
  manager.add(createResourceStates(manager.runtime.metrics, states, options.metricsNamespaces));
  const { namespace = "crossplane-system" } = options;
  const instances = (): readonly ServiceInstance[] =>
    states.flatMap(({ caches }) => [...caches.instances.list()]);
  const backups = (): readonly Backup[] =>
    states.flatMap(({ backupCaches }) => [...backupCaches.backups.list()]);
  const hasConfig = (key: string): boolean =>
    states.some(({ caches }) => caches.configs.get(key) !== undefined);
  const { metricsNamespaces: mostNamespaces } = options;
  const priced = { namespace, instances, backups, hasConfig, mostNamespaces };
  manager.add(createPricesController({ ...manager.runtime, ...priced, client }));
}

/** Caches, clients and controllers of one scope, which share nothing with those of the other one. */
function addScope(
  manager: Manager,
  options: ProviderOptions,
  scope: Scope,
  recorder: EventRecorder,
): StateCaches {
  const { client, env, pollIntervalMs, confirmLossMs = 30_000, workers } = options;
  const { runtime } = manager;
  // A control plane may have the kinds of one scope only, and may get those of the other one later.
  const source = { ...runtime, client, scope, mayBeAbsent: true };
  const caches: ProviderCaches = createCaches(source);
  const { instances, bindings, configs } = caches;
  const backupCaches = new BackupCaches(source);
  const backendSource = { ...runtime, client, env, configs };
  const brokers = manager.own(createBrokers(backendSource));
  const managers = manager.own(createManagers(backendSource));
  const usages = new Set<string>();
  const onProblem = problemsOnClaims(recorder);
  const notice = noticesOnManaged(recorder);
  const onMissing = missingOnClaims(recorder, runtime.clock);
  const onLeft = leftAtBrokers(recorder, (key) => configs.get(key));
  const timing = { workers, pollIntervalMs, confirmLossMs };
  const backends = { caches, backupCaches, brokers, managers, usages };
  const parts = { ...runtime, ...backends, ...timing, client, onProblem, onMissing, onLeft, notice };
  const instanceController = createInstanceController(parts);
  const bindingController = createBindingController(parts);
  const backupController = createBackupController(parts);
  const restoreController = createRestoreController(parts);
  watchManaged(parts, {
    instances: instanceController,
    bindings: bindingController,
    backups: backupController,
    restores: restoreController,
  });
  manager.add(instances, bindings, ...configs.informers, backupCaches.backups, backupCaches.restores);
  manager.add(instanceController, bindingController, backupController, restoreController);
  manager.add(createVanishedController(parts));
  const users = [instances, bindings, backupCaches.backups, backupCaches.restores];
  manager.add(createManagedStates(runtime.metrics, users));
  const onInUse = inUseOnConfigs(recorder);
  const onHealth = healthOnConfigs(recorder);
  for (const informer of configs.informers) {
    manager.add(createUsersController({ ...runtime, client, informer, users, onInUse }));
    manager.add(createHealthController({ ...parts, informer, onHealth }));
  }
  return { caches, backupCaches };
}
