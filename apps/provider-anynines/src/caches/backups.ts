/** Indexes backups and restores in memory, so that they find each other and their instances without a request. */
import type { Backup, Restore, ServiceInstance } from "@klutch/api";
import { phaseOf } from "@klutch/backup-manager";
import type { Managed } from "@klutch/crossplane";
import { Informer, type InformerOptions } from "@klutch/kube-runtime";
import type { TakenIds } from "../backup-manager/made-once.ts";
import { type Applicant, InstanceLocks } from "../backup-manager/instance-locks.ts";
import { backupCall, instanceIdOfBackup } from "../backup/state.ts";
import { claimKeys, keysBeside, shownName } from "../claims/names.ts";
import { configNameOf } from "../provider-config/reference.ts";
import { usedConfigs, usersIndex } from "../provider-config/use.ts";
import { type CallSource, recordedCall, recordedId } from "../records/made-once.ts";
import { instanceIdOfRestore, isRunning, restoreCall } from "../restore/state.ts";
import { clusterScoped } from "../scope.ts";
import type { CacheOptions } from "./instances.ts";

const byClaim = "claim";
const byInstance = "instance";
const byBackup = "backup";
const byConfig = "config";
const byOpenCall = "openCall";
const byRunning = "running";
const byUid = "uid";

/** Caches of backups and restores, and what this process has just written of them. */
export class BackupCaches {
  readonly backups: Informer<Backup>;
  readonly restores: Informer<Restore>;
  readonly locks: InstanceLocks = new InstanceLocks((uid) => this.#has(uid));
  readonly #backupNumbers = new TakenNumbers();
  readonly #restoreNumbers = new TakenNumbers();

  /** Not started. */
  constructor({ scope = clusterScoped, ...options }: CacheOptions) {
    this.backups = new Informer<Backup>({
      ...options,
      type: scope.backups,
      indexes: {
        [byClaim]: claimKeys,
        [byInstance]: (backup) => keysBeside(backup, backup.spec.forProvider.instanceName),
        ...sharedIndexes(backupCall, instanceIdOfBackup),
      },
    });
    this.restores = new Informer<Restore>({
      ...options,
      type: scope.restores,
      indexes: {
        [byBackup]: (restore) => keysBeside(restore, restore.spec.forProvider.backupName),
        [byRunning]: (restore) => (isRunning(restore) ? [instanceIdOfRestore(restore) ?? ""] : []),
        ...sharedIndexes(restoreCall, instanceIdOfRestore),
      },
    });
  }

  /** Backups of the claim that the restore names. */
  backupsOf(restore: Restore): readonly Backup[] {
    return keysBeside(restore, restore.spec.forProvider.backupName).flatMap((key) =>
      this.backups.byIndex(byClaim, key),
    );
  }

  /** Backups that name the claim of the instance. */
  backupsOfInstance(instance: ServiceInstance): readonly Backup[] {
    return claimKeys(instance).flatMap((key) => this.backups.byIndex(byInstance, key));
  }

  /** TakenIds' names of those of the instance that are not gone at the backup manager. */
  namesOfBackups(instance: ServiceInstance): readonly string[] {
    return this.backupsOfInstance(instance)
      .filter((backup) => recordedCall(backupCall(backup)).kind !== "nothing")
      .filter(({ status }) => phaseOf(status?.atProvider?.status ?? "") !== "Deleted")
      .map(shownName);
  }

  /** Restores that name the claim of the backup. */
  restoresOf(backup: Backup): readonly Restore[] {
    return claimKeys(backup).flatMap((key) => this.restores.byIndex(byBackup, key));
  }

  /** Restores that are changing the instance with this id now. */
  restoresInto(instanceId: string): readonly Restore[] {
    return this.restores.byIndex(byRunning, instanceId);
  }

  takenByBackups(backup: Backup): TakenIds {
    return takenIn(this.backups, this.#backupNumbers, backupCall, backup);
  }

  takenByRestores(restore: Restore): TakenIds {
    return takenIn(this.restores, this.#restoreNumbers, restoreCall, restore);
  }

  /** For its turn at the manager of the instance. */
  applicant(source: CallSource, instanceId: string): Applicant {
    const { managed } = source;
    const key = callKey(managed, instanceId);
    const open = [...this.backups.byIndex(byOpenCall, key), ...this.restores.byIndex(byOpenCall, key)];
    return {
      key,
      name: nameOf(managed),
      uid: uid(managed),
      isOpen: recordedCall(source).kind === "calling",
      open: open.filter((one) => uid(one) !== uid(managed)).map(nameOf),
    };
  }

  #has(wanted: string): boolean {
    return this.backups.byIndex(byUid, wanted).length + this.restores.byIndex(byUid, wanted).length > 0;
  }
}

function takenIn<M extends Managed>(
  informer: Informer<M>,
  numbers: TakenNumbers,
  callOf: (managed: M) => CallSource,
  managed: M,
): TakenIds {
  const config = configNameOf(managed);
  const cached = (): Iterable<readonly [number, string]> =>
    informer.byIndex(byConfig, config).map((one) => [recordedId(callOf(one)) ?? 0, uid(one)] as const);
  return numbers.takenBy(config, uid(managed), cached);
}

/** The indexes that both kinds have. */
function sharedIndexes<M extends Managed>(
  callOf: (managed: M) => CallSource,
  instanceIdOf: (managed: M) => string | undefined,
): InformerOptions<M>["indexes"] {
  return {
    [byConfig]: (managed) => (recordedId(callOf(managed)) === undefined ? [] : [configNameOf(managed)]),
    [byOpenCall]: (managed) => openCall(callOf(managed), instanceIdOf(managed)),
    [byUid]: uidOf,
    [usersIndex]: usedConfigs,
  };
}

function openCall(source: CallSource, instanceId: string | undefined): readonly string[] {
  if (instanceId === undefined || recordedCall(source).kind !== "calling") return [];
  return [callKey(source.managed, instanceId)];
}

function callKey(managed: Managed, instanceId: string): string {
  return `${configNameOf(managed)}/${instanceId}`;
}

function nameOf(managed: Managed): string {
  return `the ${managed.kind.toLowerCase()} ${shownName(managed)}`;
}

function uid({ metadata }: Managed): string {
  return metadata.uid ?? "";
}

function uidOf(managed: Managed): readonly string[] {
  return [uid(managed)];
}

/** Indexes one kind. Numbers belong to one ProviderConfig. */
export class TakenNumbers {
  readonly #written = new Map<string, Map<number, string>>();

  /** As the managed resource with this UID sees them. `cached`: numbers and owners' UIDs that the caches show. */
  takenBy(config: string, uid: string, cached: () => Iterable<readonly [number, string]>): TakenIds {
    return {
      others: () => this.#others(config, uid, new Map(cached())),
      add: (id) => {
        const written = this.#written.get(config) ?? new Map<number, string>();
        this.#written.set(config, written.set(id, uid));
      },
    };
  }

  #others(config: string, uid: string, cached: ReadonlyMap<number, string>): ReadonlySet<number> {
    const written = this.#written.get(config) ?? new Map<number, string>();
    // What the caches show needs not be remembered.
    for (const id of written.keys()) if (cached.has(id)) written.delete(id);
    const others = [...cached, ...written].filter(([, owner]) => owner !== uid);
    return new Set(others.map(([id]) => id));
  }
}
