/** Stores backups and restores. Each method is one statement, so a crash leaves no half of it. */
import type { Pool } from "pg";
import { type BackupRecord, type RestoreRecord, selectBackup, selectRestore } from "./records.ts";

/** How a backup or restore ended. */
export interface Ending {
  readonly state: "done" | "failed";
  readonly message: string;
  readonly size?: number | undefined;
  readonly sha256?: string | undefined;
}

const open = "state in ('queued', 'running')";
const atRest = "not restoring and state <> 'in progress'";

/** Judges nothing but whether an instance is at rest. */
export class BackupStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async backup(id: number): Promise<BackupRecord | undefined> {
    return (await this.#backups("where id = $1", id))[0];
  }

  backupsOf(instanceId: string): Promise<readonly BackupRecord[]> {
    return this.#backups("where instance_id = $1 order by id", instanceId);
  }

  async restore(id: number): Promise<RestoreRecord | undefined> {
    return (await this.#restores("where id = $1", id))[0];
  }

  restoresOf(instanceId: string): Promise<readonly RestoreRecord[]> {
    return this.#restores("where instance_id = $1 order by id", instanceId);
  }

  async isExcluded(instanceId: string): Promise<boolean> {
    const text = "select exclude_from_auto_backup from public.backup_settings where instance_id = $1";
    const { rows } = await this.#pool.query<{ exclude_from_auto_backup: boolean }>(text, [instanceId]);
    return rows[0]?.exclude_from_auto_backup ?? false;
  }

  async exclude(instanceId: string, isExcluded: boolean): Promise<void> {
    await this.#pool.query(
      `insert into public.backup_settings (instance_id, exclude_from_auto_backup) values ($1, $2)
       on conflict (instance_id) do update set exclude_from_auto_backup = $2`,
      [instanceId, isExcluded],
    );
  }

  /** Returns the number of the backup; undefined when the instance is not at rest. */
  addBackup(instanceId: string): Promise<number | undefined> {
    return this.#added(
      `insert into public.backups (instance_id) select id from public.instances where id = $1 and ${atRest} returning id::float8 as id`,
      instanceId,
    );
  }

  /** Keeps the broker from changing the instance until `endRestore`. Returns undefined when the instance is not at rest. */
  addRestore(instanceId: string, backupId: number): Promise<number | undefined> {
    return this.#added(
      `with locked as (update public.instances set restoring = true where id = $1 and ${atRest} returning id)
       insert into public.restores (instance_id, backup_id) select id, $2 from locked returning id::float8 as id`,
      instanceId,
      backupId,
    );
  }

  /** Marks that the backup's file is being removed; returns false while the backup runs or is being restored. */
  async beginDelete(id: number): Promise<boolean> {
    const text = `update public.backups b set deleting = true where id = $1 and not ${open}
      and not exists (select 1 from public.restores r where r.backup_id = b.id and r.${open})`;
    return (await this.#pool.query(text, [id])).rowCount === 1;
  }

  async finishDelete(id: number, message: string): Promise<void> {
    await this.#pool.query(
      "update public.backups set state = 'deleted', deleting = false, message = $2 where id = $1 and deleting",
      [id, message],
    );
  }

  /** Counts the backup again, because its file could not be removed. */
  async giveUpDelete(id: number): Promise<void> {
    await this.#pool.query("update public.backups set deleting = false where id = $1", [id]);
  }

  /** Counts one more attempt; returns undefined when the backup has ended already. */
  async beginBackup(id: number): Promise<BackupRecord | undefined> {
    return (await this.#begin("backups", id)) ? this.backup(id) : undefined;
  }

  /** Does the same for a restore. */
  async beginRestore(id: number): Promise<RestoreRecord | undefined> {
    return (await this.#begin("restores", id)) ? this.restore(id) : undefined;
  }

  async endBackup(id: number, { state, message, size, sha256 }: Ending): Promise<void> {
    await this.#pool.query(
      `update public.backups set state = $2, message = $3, size = $4, sha256 = $5, finished_at = clock_timestamp()
       where id = $1 and ${open}`,
      [id, state, message, size ?? null, sha256 ?? null],
    );
  }

  /** Lets the broker change the instance again. */
  async endRestore(id: number, { state, message }: Ending): Promise<void> {
    await this.#pool.query(
      `with ended as (update public.restores set state = $2, message = $3, finished_at = clock_timestamp()
         where id = $1 and ${open} returning instance_id)
       update public.instances set restoring = false where id in (select instance_id from ended)`,
      [id, state, message],
    );
  }

  unfinishedBackups(): Promise<readonly BackupRecord[]> {
    return this.#backups(`where ${open} order by id`);
  }

  unfinishedRestores(): Promise<readonly RestoreRecord[]> {
    return this.#restores(`where ${open} order by id`);
  }

  /** Returns the backups whose file is being removed. */
  deleting(): Promise<readonly BackupRecord[]> {
    return this.#backups("where deleting order by id");
  }

  /** Returns backups that ended before so many days, except the newest `kept` done ones of each instance. */
  expired(days: number, kept: number): Promise<readonly BackupRecord[]> {
    return this.#backups(
      `b where state in ('done', 'failed') and not deleting
         and finished_at < clock_timestamp() - make_interval(days => $1)
         and (state = 'failed' or id not in (select newest.id from public.backups newest
           where newest.instance_id = b.instance_id and newest.state = 'done' order by newest.id desc limit $2))
       order by id`,
      days,
      kept,
    );
  }

  /** Forgets deleted backups, and restores of them, so many days after they ended. */
  async forgetDeleted(days: number): Promise<void> {
    await this.#pool.query(
      "delete from public.backups where state = 'deleted' and finished_at < clock_timestamp() - make_interval(days => $1)",
      [days],
    );
  }

  /** Ends backups that have not ended, because their instance goes. */
  async cancel(instanceId: string): Promise<void> {
    await this.#pool.query(
      `update public.backups set state = 'failed', message = 'the instance is being deleted', finished_at = clock_timestamp()
       where instance_id = $1 and ${open}`,
      [instanceId],
    );
  }

  /** Removes the records of an instance that goes. */
  async forget(instanceId: string): Promise<void> {
    await this.#pool.query("delete from public.backups where instance_id = $1", [instanceId]);
  }

  async #backups(where: string, ...values: readonly unknown[]): Promise<readonly BackupRecord[]> {
    return (await this.#pool.query<BackupRecord>(`${selectBackup} ${where}`, [...values])).rows;
  }

  async #restores(where: string, ...values: readonly unknown[]): Promise<readonly RestoreRecord[]> {
    return (await this.#pool.query<RestoreRecord>(`${selectRestore} ${where}`, [...values])).rows;
  }

  async #added(text: string, ...values: readonly unknown[]): Promise<number | undefined> {
    return (await this.#pool.query<{ id: number }>(text, [...values])).rows[0]?.id;
  }

  async #begin(table: "backups" | "restores", id: number): Promise<boolean> {
    const text = `update public.${table} set state = 'running', attempts = attempts + 1 where id = $1 and ${open}`;
    return (await this.#pool.query(text, [id])).rowCount === 1;
  }
}
