/** Says which change wakes which key: all watches of the provider's controllers. */
import type { Backup, ManagedServiceBinding, ProviderConfig, Restore, ServiceInstance } from "@klutch/api";
import { keysOfManagedChange, type Managed } from "@klutch/crossplane";
import { keyOf } from "@klutch/kube-core";
import type { Change, Controller, Informer } from "@klutch/kube-runtime";
import type { BackupCaches } from "./caches/backups.ts";
import {
  askedForBindings,
  bindingsOfClaim,
  instanceOf,
  instancesOf,
  isUnchanged,
  type ProviderCaches,
} from "./caches/instances.ts";
import { usedConfigs, type UserCache } from "./provider-config/use.ts";
import { criticalAnnotationNames } from "./records/annotations.ts";
import { isRunning } from "./restore/state.ts";

/** The controllers of the managed kinds of one scope. */
export interface ManagedControllers {
  readonly instances: Controller;
  readonly bindings: Controller;
  readonly backups: Controller;
  readonly restores: Controller;
}

/** While resources come and go, the number of a ProviderConfig's users is written once in this time at most. */
const countMs = 1_000;

/** Adds the watches of the managed kinds. A resource that waits for another one goes on as soon as that changes. */
export function watchManaged(
  parts: { readonly caches: ProviderCaches; readonly backupCaches: BackupCaches },
  controllers: ManagedControllers,
): void {
  const { caches, backupCaches } = parts;
  const ownKey = keysOfManagedChange(criticalAnnotationNames);
  controllers.instances.watch(caches.instances, ownKey);
  controllers.bindings.watch(caches.bindings, ownKey);
  controllers.backups.watch(backupCaches.backups, ownKey);
  controllers.restores.watch(backupCaches.restores, ownKey);
  watchInstances(parts, controllers);
  controllers.instances.watch(caches.bindings, ({ type, object }) => {
    const instance = type === "deleted" ? instanceOf(caches, object) : undefined;
    return instance === undefined ? [] : [keyOf(instance)];
  });
  controllers.restores.watch(backupCaches.backups, (change) =>
    isUnchanged(change, askedForRestores) ? [] : keys(backupCaches.restoresOf(change.object)),
  );
  controllers.instances.watch(backupCaches.backups, ({ type, object }) =>
    type === "deleted" ? keys(instancesOf(caches, object)) : [],
  );
  watchRestores(parts, controllers);
}

/** Asks the broker for an instance whose managed resource went. */
export function watchVanished(
  controller: Controller,
  { instances }: ProviderCaches,
  keysOf: (instance: ServiceInstance) => readonly string[],
): void {
  controller.watch(instances, ({ type, object }) => (type === "deleted" ? keysOf(object) : []));
}

/** Adds the watches of a kind of ProviderConfigs; `users`: their number is counted when one comes or goes. */
export function watchConfigs(
  controller: Controller,
  informer: Informer<ProviderConfig>,
  users: readonly UserCache[] = [],
): void {
  controller.watch(informer);
  for (const cache of users) {
    cache.onChange((change) => {
      const before = change.type === "updated" ? usedConfigs(change.previous) : [];
      const now = usedConfigs(change.object);
      const changed = now
        .filter((key) => !before.includes(key))
        .concat(before.filter((key) => !now.includes(key)));
      for (const key of changed)
        controller.enqueue(key, { afterMs: countMs, reason: "users of the ProviderConfig changed" });
    });
  }
}

function watchInstances(
  { caches, backupCaches }: Parameters<typeof watchManaged>[0],
  { bindings, backups, restores }: ManagedControllers,
): void {
  const onChange =
    (of: (instance: ServiceInstance) => readonly Managed[]) =>
    (change: Change<ServiceInstance>): readonly string[] =>
      isUnchanged(change, askedForBindings) ? [] : keys(of(change.object));
  bindings.watch(
    caches.instances,
    onChange((instance) => bindingsOfClaim(caches, instance)),
  );
  backups.watch(
    caches.instances,
    onChange((instance) => backupCaches.backupsOfInstance(instance)),
  );
  restores.watch(
    caches.instances,
    onChange((instance) =>
      backupCaches.backupsOfInstance(instance).flatMap((backup) => backupCaches.restoresOf(backup)),
    ),
  );
}

/** A restore that has ended or gone lets its backups, their instances and the bindings of these go on. */
function watchRestores(
  { caches, backupCaches }: Parameters<typeof watchManaged>[0],
  { instances, bindings, backups }: ManagedControllers,
): void {
  const backupsOf = ofEnded(backupCaches);
  const instancesAt = (change: Change<Restore>): readonly ServiceInstance[] =>
    backupsOf(change).flatMap((backup) => instancesOf(caches, backup));
  backups.watch(backupCaches.restores, (change) => keys(backupsOf(change)));
  instances.watch(backupCaches.restores, (change) => keys(instancesAt(change)));
  bindings.watch(backupCaches.restores, (change) =>
    keys(
      instancesAt(change).flatMap((instance): readonly ManagedServiceBinding[] =>
        bindingsOfClaim(caches, instance),
      ),
    ),
  );
}

/** Returns the backups of a restore that has just ended or gone. */
function ofEnded(backupCaches: BackupCaches): (change: Change<Restore>) => readonly Backup[] {
  return (change) => {
    const { object } = change;
    const hasEnded =
      change.type === "deleted" ||
      (change.type === "updated" && isRunning(change.previous) && !isRunning(object));
    return hasEnded ? backupCaches.backupsOf(object) : [];
  };
}

/** Lists all fields of a backup that a restore asks for. */
function askedForRestores({ metadata, status }: Backup): readonly unknown[] {
  const { id, instanceId, status: state } = status?.atProvider ?? {};
  return [id, instanceId, state, metadata.deletionTimestamp, metadata.labels];
}

function keys(managed: readonly Managed[]): readonly string[] {
  return managed.map(keyOf);
}
