/** The external client of Restore: one restore at a backup manager. It runs once; an end is recorded for ever. */
import type { Backup, Restore, RestoreObservation, ServiceInstance } from "@klutch/api";
import {
  type BackupManagerClient,
  findLostRestore,
  isGone,
  isNotRestorable,
  isRestoreRunning,
  phaseOf,
  type Restore as FoundRestore,
} from "@klutch/backup-manager";
import { type CallOptions, type ExternalClient, NotYetError, type Observation } from "@klutch/crossplane";
import { backupCall, instanceIdOfBackup, onlyOne } from "../backup/state.ts";
import { isClearNo, listOrNothing, toExternalError } from "../backup-manager/errors.ts";
import { MadeOnce, type MadeOnceOptions, movingMs, type OnceCalls } from "../backup-manager/made-once.ts";
import { recordedId } from "../records/made-once.ts";
import { shownName } from "../claims/names.ts";
import { backupIdAnnotation, instanceIdAnnotation } from "../records/annotations.ts";
import { notWhile, notYet } from "../claims/waiting.ts";
import {
  endChange,
  instanceIdOfRestore,
  recordedEnd,
  restoreCall,
  type RestoreEnd,
  type RestoreTarget,
  restoreTarget,
  shownRestore,
  type Unusable,
} from "./state.ts";

/** Dependencies of the client of one restore. */
export interface RestoreClientOptions extends MadeOnceOptions<Restore> {
  readonly manager: Pick<BackupManagerClient, "createRestore" | "listRestores" | "getRestore" | "getBackup">;
  /** Returns the backups of the claim that the restore names. */
  readonly backups: () => readonly Backup[];
  /** Returns the instances of the claim that the backup names. */
  readonly instancesOf: (backup: Backup) => readonly ServiceInstance[];
}

/** Lives for one reconcile. */
export class RestoreClient implements ExternalClient {
  readonly #options: RestoreClientOptions;
  readonly #once: MadeOnce<RestoreObservation>;
  #end: RestoreEnd | undefined;

  constructor(options: RestoreClientOptions) {
    const { managed } = options;
    this.#options = options;
    this.#once = new MadeOnce(restoreCall(managed), managed.status?.atProvider ?? {}, options);
    this.#end = recordedEnd(managed);
  }

  async observe(options: CallOptions): Promise<Observation> {
    if (this.#end !== undefined) {
      this.#once.leaveTurn();
      return this.#observeEnd(this.#end);
    }
    const calls = (): OnceCalls<FoundRestore> => this.#calls(this.#askedFor());
    return this.#once.observe(
      { calls, made: (id) => this.#observeMade(id, options), ready: "creating" },
      options,
    );
  }

  async create(options: CallOptions): Promise<void> {
    const target = this.#target();
    if (typeof target === "string") return this.#finish(unusable(target));
    const { instanceId, backupId } = target;
    const also = { [instanceIdAnnotation]: instanceId, [backupIdAnnotation]: String(backupId) };
    try {
      await this.#once.make(this.#calls(target), also, options);
    } catch (error) {
      await this.#answerTo(error, target, options);
    }
  }

  async update(): Promise<void> {}

  /** Nothing can be deleted; a restore that runs is waited for. */
  async delete(): Promise<void> {
    const name = shownName(this.#options.managed);
    throw new NotYetError(`the restore ${name} is still running; it is let go of when it has ended`, {
      requeueAfterMs: movingMs,
      reason: "StillRestoring",
    });
  }

  async #observeMade(id: number, options: CallOptions): Promise<Observation> {
    const once = this.#once;
    const instanceId = this.#instanceId();
    let found: FoundRestore;
    try {
      found = await this.#options.manager.getRestore({ instanceId, restoreId: id }, options);
    } catch (error) {
      if (!isGone(error)) throw error;
      return this.#endWith(endOf(id, "deleted"));
    }
    once.show(shownRestore(once.atProvider, instanceId, found));
    switch (phaseOf(found.state)) {
      case "InProgress":
        return once.observation({
          exists: true,
          ready: "creating",
          pollAfterMs: once.pollAfterMs,
        });
      case "Succeeded":
      case "Failed":
      case "Deleted":
        return this.#endWith(endOf(id, found.state));
      case "Unknown":
        return once.unknown(id, found.state, { exists: !once.isDeleting, ready: "unknown" });
    }
  }

  async #endWith(end: RestoreEnd): Promise<Observation> {
    await this.#finish(end);
    return this.#observeEnd(end);
  }

  /** Writes it down for ever. */
  async #finish(end: RestoreEnd): Promise<void> {
    const once = this.#once;
    await once.annotations.write(endChange(end));
    once.show({ ...once.atProvider, state: end.state ?? once.atProvider.state });
    this.#end = end;
  }

  #observeEnd({ state: last, reason, message }: RestoreEnd): Observation {
    const once = this.#once;
    return once.observation({
      exists: !once.isDeleting,
      ready: last === "done" ? "available" : "unavailable",
      reason,
      message: message === "" ? undefined : message,
    });
  }

  /** Interprets a refusal of the manager: the restore ended, or it is tried again. */
  async #answerTo(error: unknown, target: RestoreTarget, options: CallOptions): Promise<void> {
    if (isRestoreRunning(error)) throw notWhile("Restore", error.message, error);
    if (isGone(error)) return this.#finish(unusable(error.message));
    if (!isNotRestorable(error)) throw toExternalError(error, "change");
    if (await this.#isBackupMoving(target, options)) throw notWhile("Backup", error.message, error);
    return this.#finish(unusable(error.message));
  }

  async #isBackupMoving(target: RestoreTarget, options: CallOptions): Promise<boolean> {
    try {
      const { state } = await this.#options.manager.getBackup(target, options);
      return phaseOf(state) === "InProgress";
    } catch (error) {
      if (isGone(error)) return false;
      throw toExternalError(error, "change");
    }
  }

  /** Returns the target as an earlier call sent it; before the first call, the one that the specs name. */
  #target(): RestoreTarget | Unusable {
    const { managed: restore, backups, instancesOf } = this.#options;
    if (this.#once.isOpen) return this.#askedFor();
    return restoreTarget({ restore, backups: backups(), instancesOf });
  }

  #askedFor(): RestoreTarget {
    const { annotations } = this.#options.managed.metadata;
    const noted = Number(annotations?.[backupIdAnnotation] ?? this.#once.atProvider.backupId);
    const backupId = Number.isSafeInteger(noted) ? noted : recordedId(backupCall(this.#backup()));
    if (backupId === undefined)
      throw notYet("the number of the backup that was asked for is not known", "Backup");
    return { instanceId: this.#instanceId(), backupId };
  }

  #instanceId(): string {
    const { managed } = this.#options;
    const instanceId = instanceIdOfRestore(managed) ?? instanceIdOfBackup(this.#backup());
    if (instanceId === undefined) throw notYet("the instance of the backup has no id at its broker yet");
    return instanceId;
  }

  #backup(): Backup {
    const { managed, backups } = this.#options;
    return onlyOne(managed, "backup", managed.spec.forProvider.backupName, backups());
  }

  #calls(target: RestoreTarget): OnceCalls<FoundRestore> {
    const { manager } = this.#options;
    const { instanceId, backupId } = target;
    return {
      instanceId,
      list: (options) => listOrNothing(() => manager.listRestores(instanceId, options)),
      find: (items, intent, search) => findLostRestore(items, backupId, intent, search),
      create: async (options) => (await manager.createRestore(target, options)).restoreId,
      // One that runs may be the very one that an earlier call began.
      isClearNo: (error) => isClearNo(error) && !isRestoreRunning(error),
      obstacle: otherRestore,
    };
  }
}

function otherRestore(items: readonly FoundRestore[]): string | undefined {
  const running = items.find(({ state }) => phaseOf(state) === "InProgress");
  if (running === undefined) return undefined;
  return `restore ${running.id} of the same instance is ${running.state} at the backup manager; this one begins when it has ended`;
}

function unusable(message: string): RestoreEnd {
  return { reason: "BackupNotUsable", message };
}

function endOf(id: number, state: string): RestoreEnd {
  if (phaseOf(state) === "Succeeded") return { state, message: "Restore completed successfully" };
  if (phaseOf(state) === "Failed") {
    const message = `the backup manager says that restore ${id} has failed; to try once more, make another Restore`;
    return { state, reason: "Failed", message };
  }
  const message = `the backup manager does not have restore ${id} any more; how it ended is not known`;
  return { state, reason: "Deleted", message };
}
