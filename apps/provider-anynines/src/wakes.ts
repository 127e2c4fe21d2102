/** Which change wakes which backup, restore, instance or binding. */
import type { Backup, ManagedServiceBinding, Restore, ServiceInstance } from "@klutch/api";
import { keysOfManagedChange, type Managed } from "@klutch/crossplane";
import { keyOf } from "@klutch/kube-core";
import type { Change, Controller } from "@klutch/kube-runtime";
import type { BackupCaches } from "./caches/backups.ts";
import {
  askedForBindings,
  bindingsOfClaim,
  instancesOf,
  isUnchanged,
  type ProviderCaches,
} from "./caches/instances.ts";
import { criticalAnnotationNames } from "./records/annotations.ts";
import { isRunning } from "./restore/state.ts";

/** The controllers of the kinds that wait for each other. */
export interface WakenControllers {
  readonly instances: Controller;
  readonly bindings: Controller;
  readonly backups: Controller;
  readonly restores: Controller;
}

/** Adds the watches by which whoever waits for a backup, a restore or the instance of one goes on at once. */
export function watchBackups(
  { caches, backupCaches }: { readonly caches: ProviderCaches; readonly backupCaches: BackupCaches },
  controllers: WakenControllers,
): void {
  const { backups, restores } = backupCaches;
  const ownKey = keysOfManagedChange(criticalAnnotationNames);
  controllers.backups.watch(backups, ownKey);
  controllers.restores.watch(restores, ownKey);
  controllers.backups.watch(caches.instances, (change) =>
    isUnchanged(change, askedForBindings) ? [] : keys(backupCaches.backupsOfInstance(change.object)),
  );
  controllers.restores.watch(caches.instances, (change) => {
    if (isUnchanged(change, askedForBindings)) return [];
    const waiting = backupCaches.backupsOfInstance(change.object);
    return keys(waiting.flatMap((backup) => backupCaches.restoresOf(backup)));
  });
  controllers.restores.watch(backups, (change) =>
    isUnchanged(change, askedForRestores) ? [] : keys(backupCaches.restoresOf(change.object)),
  );
  controllers.instances.watch(backups, ({ type, object }) =>
    type === "deleted" ? keys(instancesOf(caches, object)) : [],
  );
  const ofEndedRestore = ofEnded(backupCaches);
  controllers.backups.watch(restores, (change) => keys(ofEndedRestore(change)));
  controllers.instances.watch(restores, (change) => keys(instancesOfEnded(caches, ofEndedRestore(change))));
  controllers.bindings.watch(restores, (change) => {
    const instances = instancesOfEnded(caches, ofEndedRestore(change));
    return keys(
      instances.flatMap((instance): readonly ManagedServiceBinding[] => bindingsOfClaim(caches, instance)),
    );
  });
}

/** The backups of a restore that has just ended or gone; those wait for it, and so do their instances. */
function ofEnded(backupCaches: BackupCaches): (change: Change<Restore>) => readonly Backup[] {
  return (change) => {
    const { object } = change;
    const hasEnded =
      change.type === "deleted" ||
      (change.type === "updated" && isRunning(change.previous) && !isRunning(object));
    return hasEnded ? backupCaches.backupsOf(object) : [];
  };
}

function instancesOfEnded(caches: ProviderCaches, backups: readonly Backup[]): readonly ServiceInstance[] {
  return backups.flatMap((backup) => instancesOf(caches, backup));
}

/** What a restore asks a backup for. */
function askedForRestores({ metadata, status }: Backup): readonly unknown[] {
  const { id, instanceId, status: state } = status?.atProvider ?? {};
  return [id, instanceId, state, metadata.deletionTimestamp, metadata.labels];
}

function keys(managed: readonly Managed[]): readonly string[] {
  return managed.map(keyOf);
}
