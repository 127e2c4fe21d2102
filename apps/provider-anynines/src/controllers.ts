/** Creates the controllers of the managed kinds. */
import type { Backup, ManagedServiceBinding, Restore, ServiceInstance } from "@klutch/api";
import {
  connectionIsMissing,
  createManagedReconcile,
  type Managed,
  type ManagedReconcilerOptions,
  publishConnection,
  readConnection,
} from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import { Controller, type Runtime } from "@klutch/kube-runtime";
import type { Managers } from "./backup-manager/managers.ts";
import { BackupClient } from "./backup/external-client.ts";
import { backupCall } from "./backup/state.ts";
import { brokerOf, type Brokers, checkServiceType } from "./broker/brokers.ts";
import { brokersAtOnce, createQueuedController } from "./broker/queues.ts";
import { RestPace } from "./broker/rest-pace.ts";
import type { BackupCaches } from "./caches/backups.ts";
import {
  instanceOf,
  instancesOf,
  isInstanceGone,
  lossesOf,
  namesBeside,
  namesOfBindings,
  type ProviderCaches,
} from "./caches/instances.ts";
import { shownName } from "./claims/names.ts";
import { configNameOf } from "./provider-config/reference.ts";
import { ensureUsage, refuseEnding } from "./provider-config/use.ts";
import { instanceIdOf, wasNeverBound, wasNeverProvisioned } from "./records/annotations.ts";
import { recordedCall } from "./records/made-once.ts";
import { RestoreClient } from "./restore/external-client.ts";
import { isRunning, recordedEnd, restoreCall } from "./restore/state.ts";
import { controllerName } from "./scope.ts";
import type { MissingInstance } from "./service-binding/bind.ts";
import { ServiceBindingClient } from "./service-binding/external-client.ts";
import { ServiceInstanceClient } from "./service-instance/external-client.ts";
import { type Vanished, VanishedInstances } from "./service-instance/vanished.ts";
import { UsageLedgers } from "./usage/ledger.ts";
import { watchVanished } from "./wakes.ts";

/** Everything that the controllers share. */
export interface ControllerParts extends Runtime {
  readonly client: KubeClient;
  readonly caches: ProviderCaches;
  readonly backupCaches: BackupCaches;
  readonly brokers: Pick<Brokers, "get">;
  readonly managers: Pick<Managers, "get">;
  /** UIDs of resources whose ProviderConfigUsage is known to be there. */
  readonly usages: Set<string>;
  /** Resources of one kind and one broker or backup manager that are worked on at the same time. */
  readonly workers: number;
  readonly pollIntervalMs: number;
  readonly confirmLossMs: number;
  /** Says something about a managed resource that a person should know. Default of `reason`: `LookAtBackend`. */
  readonly notice: (about: Managed, message: string, reason?: string) => void;
  /** Says that an instance is left at its broker without a managed resource. */
  readonly onLeft: (vanished: Vanished) => void;
  readonly onProblem: ManagedReconcilerOptions<Managed>["onProblem"];
  /** Says that a binding's namespace lacks its instance. */
  readonly onMissing: (binding: Managed, missing: MissingInstance) => void;
}

/** Marks the ProviderConfig as used before a backend is called; refuses new resources while it is being deleted. Throws `ExternalError`. */
export async function useConfig(
  { client, caches, usages }: Pick<ControllerParts, "client" | "caches" | "usages">,
  managed: Managed,
  { isNew, signal }: { readonly isNew: boolean; readonly signal: AbortSignal },
): Promise<void> {
  if (isNew) refuseEnding(caches.configs.get(configNameOf(managed)));
  await ensureUsage(client, managed, usages, { signal });
}

/** Creates the controller of one managed kind, with a queue per backend. */
export function createManagedController<M extends Managed>(
  parts: ControllerParts,
  kind: Pick<
    ManagedReconcilerOptions<M>,
    "type" | "informer" | "neverCreated" | "connect" | "pollIntervalMs" | "beforeRelease"
  >,
): Controller {
  const { informer } = kind;
  const reconcile = createManagedReconcile<M>({ ...parts, ...kind });
  return createQueuedController(parts, { name: controllerName(kind.type), informer, reconcile });
}

/** Returns the ledgers of the scope's instances and backups. */
function ledgersOf(parts: ControllerParts): UsageLedgers {
  const { caches, backupCaches } = parts;
  const present = (): ReadonlySet<string> =>
    new Set(
      [...caches.instances.list(), ...backupCaches.backups.list()].map(({ metadata }) => metadata.uid ?? ""),
    );
  return new UsageLedgers({ ...parts, present });
}

/** Makes instances at their brokers. */
export function createInstanceController(parts: ControllerParts): Controller {
  const { caches, backupCaches, brokers, clock, confirmLossMs } = parts;
  const pace = new RestPace({ clock, intervalMs: parts.pollIntervalMs });
  const ledgers = ledgersOf(parts);
  return createManagedController<ServiceInstance>(parts, {
    beforeRelease: (managed, options) => ledgers.record(managed, options),
    type: caches.scope.instances,
    informer: caches.instances,
    neverCreated: wasNeverProvisioned,
    connect: async (managed, { updateCriticalAnnotations, signal }) => {
      await useConfig(parts, managed, { isNew: wasNeverProvisioned(managed), signal });
      const broker = await brokerOf(brokers, managed, signal);
      return new ServiceInstanceClient({
        managed,
        broker,
        updateCriticalAnnotations,
        clock,
        users: () => ({
          restores: namesOfRestores(backupCaches, managed),
          bindings: namesOfBindings(caches, managed),
          backups: backupCaches.namesOfBackups(managed),
        }),
        losses: () => lossesOf(caches, managed),
        confirmLossMs,
        pace,
      });
    },
  });
}

/** Makes bindings at the brokers of their instances. */
export function createBindingController(parts: ControllerParts): Controller {
  const { client, caches, backupCaches, brokers, clock, confirmLossMs } = parts;
  const pace = new RestPace({ clock, intervalMs: parts.pollIntervalMs });
  return createManagedController<ManagedServiceBinding>(parts, {
    type: caches.scope.bindings,
    informer: caches.bindings,
    neverCreated: wasNeverBound,
    connect: async (managed, { updateCriticalAnnotations, signal }) => {
      const isNew = wasNeverBound(managed);
      if (isNew) checkServiceType(managed, instanceOf(caches, managed));
      await useConfig(parts, managed, { isNew, signal });
      const broker = await brokerOf(brokers, managed, signal);
      return new ServiceBindingClient({
        managed,
        broker,
        updateCriticalAnnotations,
        clock,
        instance: () => instanceOf(caches, managed),
        beside: () => namesBeside(caches, managed),
        missing: (missing) => parts.onMissing(managed, missing),
        notice: (message) => parts.notice(managed, message, "ConnectionNotUnderstood"),
        restores: () => namesOfRestores(backupCaches, instanceOf(caches, managed)),
        pollIntervalMs: parts.pollIntervalMs,
        secretIsMissing: (call) => connectionIsMissing(client, managed, call),
        published: (call) => readConnection(client, managed, call),
        publish: (details, call) => publishConnection(client, managed, details, call),
        confirmLossMs,
        pace,
      });
    },
  });
}

/** Asks brokers for instances whose managed resources vanished. */
export function createVanishedController(parts: ControllerParts): Controller {
  const { caches, brokers, metrics } = parts;
  const ledgers = ledgersOf(parts);
  const vanished = new VanishedInstances({
    metrics,
    keepUsage: (managed, options) => ledgers.record(managed, options),
    onLeft: parts.onLeft,
    broker: (config, options) => brokers.get(config, options),
    isManaged: (instanceId) => {
      for (const instance of caches.instances.list()) if (instanceIdOf(instance) === instanceId) return true;
      return false;
    },
  });
  const controller = new Controller({
    ...parts,
    name: controllerName(caches.scope.instances, "vanished-instance"),
    workers: brokersAtOnce,
    reconcile: vanished.reconcile,
  });
  watchVanished(controller, caches, (instance) => vanished.keysOf(instance));
  return controller;
}

/** Names of the restores that put something into the instance now. */
function namesOfRestores(
  backupCaches: BackupCaches,
  instance: ServiceInstance | undefined,
): readonly string[] {
  return instance === undefined ? [] : backupCaches.restoresInto(instanceIdOf(instance)).map(shownName);
}

/** Interval at which a backup or restore at rest is observed; up to a fifth longer, so that they spread. */
const restMs = 600_000;

/** Makes backups at their backup managers. */
export function createBackupController(parts: ControllerParts): Controller {
  const { caches, backupCaches, managers, clock } = parts;
  const ledgers = ledgersOf(parts);
  return createManagedController<Backup>(parts, {
    beforeRelease: (managed, options) => ledgers.recordBackup(managed, options),
    pollIntervalMs: restMs,
    type: caches.scope.backups,
    informer: backupCaches.backups,
    neverCreated: (managed) =>
      recordedCall(backupCall(managed)).kind === "nothing" || isInstanceGone(caches, managed),
    connect: async (managed, { updateCriticalAnnotations, signal }) => {
      const isNew = recordedCall(backupCall(managed)).kind === "nothing";
      await useConfig(parts, managed, { isNew, signal });
      return new BackupClient({
        managed,
        manager: await managers.get(configNameOf(managed), { signal }),
        updateCriticalAnnotations,
        clock,
        taken: backupCaches.takenByBackups(managed),
        notice: (message) => parts.notice(managed, message),
        instances: () => instancesOf(caches, managed),
        restoresInto: (instanceId) => backupCaches.restoresInto(instanceId).map(shownName),
        restoresOfThis: () => backupCaches.restoresOf(managed).filter(isRunning).map(shownName),
        locks: backupCaches.locks,
        applicant: (instanceId) => backupCaches.applicant(backupCall(managed), instanceId),
      });
    },
  });
}

/** Runs restores at their backup managers, each once. */
export function createRestoreController(parts: ControllerParts): Controller {
  const { caches, backupCaches, managers, clock } = parts;
  return createManagedController<Restore>(parts, {
    pollIntervalMs: restMs,
    type: caches.scope.restores,
    informer: backupCaches.restores,
    neverCreated: (managed) =>
      recordedCall(restoreCall(managed)).kind === "nothing" || recordedEnd(managed) !== undefined,
    connect: async (managed, { updateCriticalAnnotations, signal }) => {
      const isNew = recordedCall(restoreCall(managed)).kind === "nothing";
      await useConfig(parts, managed, { isNew, signal });
      return new RestoreClient({
        managed,
        manager: await managers.get(configNameOf(managed), { signal }),
        updateCriticalAnnotations,
        clock,
        taken: backupCaches.takenByRestores(managed),
        notice: (message) => parts.notice(managed, message),
        backups: () => backupCaches.backupsOf(managed),
        instancesOf: (backup) => instancesOf(caches, backup),
        locks: backupCaches.locks,
        applicant: (instanceId) => backupCaches.applicant(restoreCall(managed), instanceId),
      });
    },
  });
}
