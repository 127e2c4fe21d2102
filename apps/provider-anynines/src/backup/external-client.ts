/** The external client of Backup: one backup at a backup manager. A backup deleted there is never made again. */
import {
  type Backup,
  backupEnded,
  backupKept,
  type BackupObservation,
  parsedBackupUsage,
  type ServiceInstance,
  usageAnnotation,
} from "@klutch/api";
import {
  type Backup as FoundBackup,
  type BackupManagerClient,
  findLostBackup,
  isGone,
  phaseOf,
} from "@klutch/backup-manager";
import type { CallOptions, ExternalClient, Observation } from "@klutch/crossplane";
import { isClearNo, listOrNothing, toExternalError } from "../backup-manager/errors.ts";
import {
  everLater,
  MadeOnce,
  type MadeOnceOptions,
  movingMs,
  type OnceCalls,
} from "../backup-manager/made-once.ts";
import { backupUsageChange, instanceIdAnnotation, serviceIdAnnotation } from "../records/annotations.ts";
import { notWhile, notYet } from "../claims/waiting.ts";
import {
  backupCall,
  backupTarget,
  instanceIdOfBackup,
  onlyOne,
  seenBackup,
  shownBackup,
  shownDeleted,
} from "./state.ts";

/** Dependencies of the client of one backup. */
export interface BackupClientOptions extends MadeOnceOptions<Backup> {
  readonly manager: Pick<BackupManagerClient, "createBackup" | "listBackups" | "getBackup" | "deleteBackup">;
  /** Returns the instances of the claim that the backup names. */
  readonly instances: () => readonly ServiceInstance[];
  /** Names of the restores that put something into an instance now. */
  readonly restoresInto: (instanceId: string) => readonly string[];
  /** Names of the restores that read this backup now. */
  readonly restoresOfThis: () => readonly string[];
}

/** Lives for one reconcile. */
export class BackupClient implements ExternalClient {
  readonly #options: BackupClientOptions;
  readonly #once: MadeOnce<BackupObservation>;

  constructor(options: BackupClientOptions) {
    const { managed } = options;
    this.#options = options;
    this.#once = new MadeOnce(backupCall(managed), managed.status?.atProvider ?? {}, options);
  }

  observe(options: CallOptions): Promise<Observation> {
    const calls = (): OnceCalls<FoundBackup> => this.#calls(this.#instanceId());
    const ready = this.#once.isDeleting ? "deleting" : "creating";
    return this.#once.observe({ calls, made: (id) => this.#observeMade(id, options), ready }, options);
  }

  async create(options: CallOptions): Promise<void> {
    const { managed, instances, restoresInto } = this.#options;
    const { record } = this.#once;
    const known = record === undefined ? undefined : instanceIdOfBackup(managed);
    const target = known === undefined ? backupTarget(managed, instances()) : { instanceId: known };
    const { instanceId } = target;
    const [restore] = restoresInto(instanceId);
    if (restore !== undefined) {
      const message = `the restore ${restore} of the same instance is running; the backup begins afterwards`;
      throw notWhile("Restore", message);
    }
    const also = {
      [instanceIdAnnotation]: instanceId,
      ...("serviceId" in target ? { [serviceIdAnnotation]: target.serviceId } : {}),
    };
    try {
      await this.#once.make(this.#calls(instanceId), also, options);
    } catch (error) {
      throw toExternalError(error, "change");
    }
  }

  async update(): Promise<void> {}

  async delete(options: CallOptions): Promise<void> {
    const { manager, restoresOfThis } = this.#options;
    const { record } = this.#once;
    if (record?.id === undefined) return;
    const [restore] = restoresOfThis();
    if (restore !== undefined) {
      const message = `the restore ${restore} of this backup is still running; the backup is deleted afterwards`;
      throw notWhile("Restore", message);
    }
    try {
      await manager.deleteBackup({ instanceId: this.#instanceId(), backupId: record.id }, options);
    } catch (error) {
      if (!isGone(error)) throw toExternalError(error, "change");
    }
  }

  async #observeMade(id: number, options: CallOptions): Promise<Observation> {
    const once = this.#once;
    const instanceId = this.#instanceId();
    await this.#nameOthers(instanceId, id, options);
    let found: FoundBackup | undefined;
    try {
      found = await this.#options.manager.getBackup({ instanceId, backupId: id }, options);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    if (found === undefined) return await this.#observeGone(instanceId, id);
    once.show(shownBackup(instanceId, found));
    switch (phaseOf(found.state)) {
      case "InProgress":
        return once.observation({
          exists: true,
          ready: "creating",
          pollAfterMs: this.#deletionMs ?? once.pollAfterMs,
        });
      case "Succeeded":
        await this.#count(found);
        return once.observation({ exists: true, ready: "available", pollAfterMs: this.#deletionMs });
      case "Failed":
        return once.observation({
          exists: true,
          ready: "unavailable",
          reason: "Failed",
          message: `the backup manager says that backup ${id} has failed; make another Backup`,
          pollAfterMs: this.#deletionMs,
        });
      case "Deleted":
        return this.#observeGone(instanceId, id);
      case "Unknown":
        return once.unknown(id, found.state, {
          exists: true,
          ready: once.isDeleting ? "unavailable" : "unknown",
        });
    }
  }

  /** Records how long the backup is kept, and how large it is. */
  async #count(found: FoundBackup): Promise<void> {
    const { managed, instances, clock } = this.#options;
    const { annotations } = this.#once;
    const known = parsedBackupUsage(annotations.get(usageAnnotation));
    const seen = seenBackup(managed, found, instances);
    await annotations.write(backupUsageChange(backupKept(known, seen, clock.now())));
  }

  async #observeGone(instanceId: string, id: number): Promise<Observation> {
    const once = this.#once;
    const usage = parsedBackupUsage(once.annotations.get(usageAnnotation));
    if (usage !== undefined)
      await once.annotations.write(backupUsageChange(backupEnded(usage, this.#options.clock.now())));
    once.show(shownDeleted(once.atProvider, instanceId, id));
    return once.observation({
      exists: !once.isDeleting,
      ready: "unavailable",
      reason: "Deleted",
      message: "the backup is gone at the backup manager (retention or by hand)",
    });
  }

  /** The existing provider made another one each minute once its own was gone, and never looked at them. */
  async #nameOthers(instanceId: string, id: number, options: CallOptions): Promise<void> {
    const { manager, taken, managed, notice } = this.#options;
    const { id: shown } = this.#once.atProvider;
    if (shown === undefined || shown === id) return;
    const bornAt = Date.parse(managed.metadata.creationTimestamp ?? "");
    const claimed = taken.others();
    const others = (await manager.listBackups(instanceId, options))
      .filter((item) => item.id !== id && !claimed.has(item.id) && phaseOf(item.state) !== "Deleted")
      .filter(({ triggeredAtMs = 0 }) => triggeredAtMs >= bornAt);
    if (others.length === 0) return;
    const numbers = others.slice(0, 20).map((item) => item.id);
    notice(
      `the backup is number ${id}; ${numbers.join(", ")} of the same instance are younger than this Backup, and nothing here looks after them`,
    );
  }

  #calls(instanceId: string): OnceCalls<FoundBackup> {
    const { manager } = this.#options;
    return {
      instanceId,
      list: (options) => listOrNothing(() => manager.listBackups(instanceId, options)),
      find: findLostBackup,
      create: async (options) => (await manager.createBackup(instanceId, options)).backupId,
      isClearNo,
      obstacle: () => undefined,
    };
  }

  /** A manager may accept a deletion and never do it. Undefined: it is not deleted. */
  get #deletionMs(): number | undefined {
    const { managed, clock } = this.#options;
    const deletedAt = Date.parse(managed.metadata.deletionTimestamp ?? "");
    return Number.isNaN(deletedAt) ? undefined : everLater(clock.now() - deletedAt, movingMs);
  }

  #instanceId(): string {
    const { managed, instances } = this.#options;
    const known = instanceIdOfBackup(managed);
    if (known !== undefined) return known;
    const { instanceName } = managed.spec.forProvider;
    const instance = onlyOne(managed, "instance", instanceName, instances());
    const { instanceId } = instance.status?.atProvider ?? {};
    if (instanceId === undefined) throw notYet(`the instance ${instanceName} is not made yet`);
    return instanceId;
  }
}
