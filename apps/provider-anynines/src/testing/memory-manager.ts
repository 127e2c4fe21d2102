/**
 * A fake of a backup manager that counts, because faults between two calls cannot be had from a real one on demand. Each backup holds the
 * rows that its instance had, and each restore puts them back, so a second restore shows in the rows.
 */
import {
  type Backup,
  type BackupManagerCall,
  type BackupManagerClient,
  BackupManagerError,
  type Restore,
} from "@klutch/backup-manager";
import type { Clock } from "@klutch/kube";

/** Lets something happen to a call that changes something. */
export type Effect = <T>(what: string, run: () => Promise<T>) => Promise<T>;

interface StoredBackup extends Backup {
  readonly instanceId: string;
  readonly rows: string;
}

interface StoredRestore extends Restore {
  readonly instanceId: string;
}

/** One manager. Numbers and times are its own. */
export class MemoryManager {
  /** The data of each instance, by id. */
  readonly rows: Map<string, string> = new Map();
  readonly backups: Map<number, StoredBackup> = new Map();
  readonly restores: Map<number, StoredRestore> = new Map();
  /** Duration of a backup or a restore. */
  takesMs = 10_000;
  /** Difference between its clock and ours. */
  offMs = -3_600_000;
  /** The end of a backup or a restore. */
  endsAs = "done";
  /** The size that it tells of a backup. Default: none. */
  sizeOf: (id: number) => Pick<Backup, "size" | "sizeIsMalformed"> = () => ({});
  /** When a backup was deleted, by our clock. */
  readonly deletedAtMs: Map<number, number> = new Map();
  /** True when an accepted deletion happens. */
  deletes = true;
  /** Thrown by calls of this name, before anything happens. */
  readonly refusals: Map<BackupManagerCall, Error> = new Map();
  /** Each call that came, with the time on our clock. */
  readonly asked: { readonly call: BackupManagerCall; readonly atMs: number }[] = [];
  readonly #lost = new Set<BackupManagerCall>();
  readonly #clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One that no one asked for, as managers make them at night. Its number. */
  makeBackup(instanceId: string): number {
    const id = ++this.#last;
    const triggeredAtMs = this.#now();
    const rows = this.#rowsOf(instanceId);
    this.backups.set(id, { id, instanceId, rows, state: "queued", triggeredAtMs, downloadable: false });
    this.#later(this.backups, id);
    return id;
  }

  /** The next call of this name happens, and its answer is lost. */
  loseNext(call: BackupManagerCall): void {
    this.#lost.add(call);
  }

  /** As somebody else may change it. */
  setState(kind: "backups" | "restores", id: number, state: string): void {
    if (kind === "backups") change(this.backups, id, state);
    else change(this.restores, id, state);
  }

  /** Its number. */
  startRestore(instanceId: string, backupId: number): number {
    const backup = this.#backup(instanceId, backupId, "createRestore");
    if (backup.state !== "done")
      throw refusal("createRestore", 422, "InvalidStatusError", "Cannot restore from it.");
    for (const restore of this.restores.values()) {
      if (restore.instanceId === instanceId && restore.state === "queued")
        throw refusal("createRestore", 409, "ConcurrencyError", "A restore is already in progress.");
    }
    const id = ++this.#last;
    this.restores.set(id, { id, instanceId, backupId, state: "queued", triggeredAtMs: this.#now() });
    this.rows.set(instanceId, backup.rows);
    this.#later(this.restores, id);
    return id;
  }

  /** A client whose changing calls are effects. */
  client(effect: Effect): BackupManagerClient {
    const changing = <T>(call: BackupManagerCall, run: () => T): Promise<T> =>
      effect(call, async () => {
        this.#refuse(call);
        const answer = run();
        if (this.#lost.delete(call)) throw refusal(call, 502, "BadGateway", "The answer is lost.");
        return answer;
      });
    const reading = async <T>(call: BackupManagerCall, run: () => T): Promise<T> => {
      this.#refuse(call);
      return run();
    };
    const unexpected = async (): Promise<never> => {
      throw new Error("the provider does not call this");
    };
    return {
      createBackup: (instanceId) =>
        changing("createBackup", () => ({ backupId: this.makeBackup(instanceId), message: "" })),
      listBackups: (instanceId) =>
        reading("listBackups", () => {
          this.#rowsOf(instanceId);
          return [...this.backups.values()].filter((backup) => backup.instanceId === instanceId);
        }),
      getBackup: ({ instanceId, backupId }) =>
        reading("getBackup", () => ({
          ...this.#backup(instanceId, backupId, "getBackup"),
          ...this.sizeOf(backupId),
        })),
      deleteBackup: ({ instanceId, backupId }) =>
        changing("deleteBackup", () => {
          const backup = this.#backup(instanceId, backupId, "deleteBackup");
          if (!this.deletes) return { message: "" };
          this.backups.set(backupId, { ...backup, state: "deleted" });
          if (!this.deletedAtMs.has(backupId)) this.deletedAtMs.set(backupId, this.#clock.now());
          return { message: "" };
        }),
      createRestore: ({ instanceId, backupId }) =>
        changing("createRestore", () => ({ restoreId: this.startRestore(instanceId, backupId) })),
      listRestores: (instanceId) =>
        reading("listRestores", () =>
          [...this.restores.values()].filter((restore) => restore.instanceId === instanceId),
        ),
      getRestore: ({ restoreId }) =>
        reading("getRestore", () => {
          const restore = this.restores.get(restoreId);
          if (restore === undefined)
            throw refusal("getRestore", 404, "NotFound", "There is no such restore.");
          return restore;
        }),
      getInstanceConfig: unexpected,
      updateBackupConfig: unexpected,
      checkHealth: unexpected,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  #refuse(call: BackupManagerCall): void {
    this.asked.push({ call, atMs: this.#clock.now() });
    const refused = this.refusals.get(call);
    if (refused !== undefined) throw refused;
  }

  #backup(instanceId: string, id: number, call: BackupManagerCall): StoredBackup {
    const backup = this.backups.get(id);
    if (backup?.instanceId !== instanceId)
      throw refusal(call, 404, "BackupNotFound", "There is no such backup.");
    return backup;
  }

  #rowsOf(instanceId: string): string {
    const rows = this.rows.get(instanceId);
    if (rows === undefined)
      throw refusal("createBackup", 404, "InstanceNotFound", "There is no such instance.");
    return rows;
  }

  #later<T extends { readonly state: string }>(all: Map<number, T>, id: number): void {
    this.#clock.schedule(this.takesMs, () => {
      const found = all.get(id);
      if (found?.state === "queued") all.set(id, { ...found, state: this.endsAs, finishedAtMs: this.#now() });
    });
  }

  #now(): number {
    return this.#clock.now() + this.offMs;
  }
}

function change<T extends { readonly state: string }>(all: Map<number, T>, id: number, state: string): void {
  const found = all.get(id);
  if (found !== undefined) all.set(id, { ...found, state });
}

/** The manager says no, in its own words. */
export function refusal(
  call: BackupManagerCall,
  status: number,
  error: string,
  description: string,
): BackupManagerError {
  return new BackupManagerError({ call, subject: "it" }, { status, error, description, own: true });
}
