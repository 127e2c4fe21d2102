/** The controllers of backups and restores. */
import type { Backup, Restore } from "@klutch/api";
import type { Controller } from "@klutch/kube-runtime";
import { BackupClient } from "./backup/external-client.ts";
import { backupCall } from "./backup/state.ts";
import { recordedCall } from "./records/made-once.ts";
import { configNameOf } from "./provider-config/reference.ts";
import { instancesOf, isInstanceGone } from "./caches/instances.ts";
import { shownName } from "./claims/names.ts";
import { type ControllerParts, createManagedController, useConfig } from "./controllers.ts";
import { RestoreClient } from "./restore/external-client.ts";
import { isRunning, recordedEnd, restoreCall } from "./restore/state.ts";

/** How often what is at rest is observed; up to a fifth more, so that not all come at once. */
const restMs = 600_000;

/** Makes backups at their backup managers. */
export function createBackupController(parts: ControllerParts): Controller {
  const { caches, backupCaches, managers, clock } = parts;
  return createManagedController<Backup>(parts, {
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
        turns: backupCaches.turns,
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
        turns: backupCaches.turns,
        applicant: (instanceId) => backupCaches.applicant(restoreCall(managed), instanceId),
      });
    },
  });
}
