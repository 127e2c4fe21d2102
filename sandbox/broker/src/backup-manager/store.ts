/**
 * Backups and restores in the broker's own database. What is decided about an instance is decided while its row is locked, so that two
 * requests, or a request and an operation of the broker, cannot both win.
 */
import type { Pool, PoolClient } from "pg";
import {
  type BackupRecord,
  type BackupSettings,
  type RestoreRecord,
  selectBackup,
  selectRestore,
  tables,
} from "./records.ts";

/** What is seen of an instance while its row is locked. */
export interface LockedInstance {
  readonly operation: string;
  readonly state: string;
  readonly restoring: boolean;
}

/** How a backup or restore ended. */
export interface Ending {
  readonly state: "done" | "failed";
  readonly message: string;
  readonly size?: number | undefined;
  readonly sha256?: string | undefined;
}

const open = "state in ('queued', 'running')";

/** Throws what the server says; judges nothing itself. */
export class BackupStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Call it after the instances have their table. */
  async prepare(): Promise<void> {
    await this.#pool.query(tables);
  }

  async instanceIds(): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<{ id: string }>("select id from public.instances order by id");
    return rows.map(({ id }) => id);
  }

  async backup(id: number): Promise<BackupRecord | undefined> {
    return (await this.#pool.query<BackupRecord>(`${selectBackup} where id = $1`, [id])).rows[0];
  }

  /** In the order of their numbers. */
  async backupsOf(instanceId: string): Promise<readonly BackupRecord[]> {
    const text = `${selectBackup} where instance_id = $1 order by id`;
    return (await this.#pool.query<BackupRecord>(text, [instanceId])).rows;
  }

  async restore(id: number): Promise<RestoreRecord | undefined> {
    return (await this.#pool.query<RestoreRecord>(`${selectRestore} where id = $1`, [id])).rows[0];
  }

  /** In the order of their numbers. */
  async restoresOf(instanceId: string): Promise<readonly RestoreRecord[]> {
    const text = `${selectRestore} where instance_id = $1 order by id`;
    return (await this.#pool.query<RestoreRecord>(text, [instanceId])).rows;
  }

  async settings(instanceId: string): Promise<BackupSettings> {
    const { rows } = await this.#pool.query<BackupSettings>(
      `select sealed_key as "sealedKey", exclude_from_auto_backup as "excludeFromAutoBackup"
       from public.backup_settings where instance_id = $1`,
      [instanceId],
    );
    return rows[0] ?? { sealedKey: null, excludeFromAutoBackup: false };
  }

  /** Changes what is given. */
  async change(instanceId: string, settings: Partial<BackupSettings>): Promise<void> {
    await this.#pool.query(
      `insert into public.backup_settings as s (instance_id, sealed_key, exclude_from_auto_backup)
       values ($1, $2, coalesce($3, false)) on conflict (instance_id) do update
       set sealed_key = coalesce($2, s.sealed_key), exclude_from_auto_backup = coalesce($3, s.exclude_from_auto_backup)`,
      [instanceId, settings.sealedKey ?? null, settings.excludeFromAutoBackup ?? null],
    );
  }

  /** Inserts a backup unless `check` throws. */
  async addBackup(
    instanceId: string,
    check: (instance: LockedInstance | undefined) => void,
  ): Promise<number> {
    return this.#locked(async (client) => {
      check(await lockInstance(client, instanceId));
      return idOf(
        client.query(
          `insert into public.backups (instance_id, sealed_key) values ($1,
             (select sealed_key from public.backup_settings where instance_id = $1)) returning id::float8 as id`,
          [instanceId],
        ),
      );
    });
  }

  /** Inserts a restore and keeps the broker from changing the instance until it has ended, unless `check` throws. */
  async addRestore(
    instanceId: string,
    backupId: number,
    check: (instance: LockedInstance | undefined, backup: BackupRecord | undefined) => void,
  ): Promise<number> {
    return this.#locked(async (client) => {
      const instance = await lockInstance(client, instanceId);
      check(instance, await lockBackup(client, backupId));
      await client.query("update public.instances set restoring = true where id = $1", [instanceId]);
      const text =
        "insert into public.restores (instance_id, backup_id) values ($1, $2) returning id::float8 as id";
      return idOf(client.query(text, [instanceId, backupId]));
    });
  }

  /** Marks that the backup's file is being removed, and gives back true, unless `check` says no or throws. */
  async beginDelete(
    backupId: number,
    check: (backup: BackupRecord | undefined, restoresRunning: boolean) => boolean,
  ): Promise<boolean> {
    return this.#locked(async (client) => {
      const backup = await lockBackup(client, backupId);
      const text = `select 1 from public.restores where backup_id = $1 and ${open}`;
      if (!check(backup, (await client.query(text, [backupId])).rowCount !== 0)) return false;
      await client.query("update public.backups set deleting = true where id = $1", [backupId]);
      return true;
    });
  }

  async finishDelete(backupId: number, message: string): Promise<void> {
    await this.#pool.query(
      `update public.backups set state = 'deleted', deleting = false, sealed_key = null, message = $2
       where id = $1 and deleting`,
      [backupId, message],
    );
  }

  /** Its file could not be removed: it counts again. */
  async giveUpDelete(backupId: number): Promise<void> {
    await this.#pool.query("update public.backups set deleting = false where id = $1", [backupId]);
  }

  /** Counts one more beginning; undefined when it has ended already. */
  async beginBackup(id: number): Promise<BackupRecord | undefined> {
    const text = `update public.backups set state = 'running', attempts = attempts + 1 where id = $1 and ${open}`;
    return (await this.#pool.query(text, [id])).rowCount === 1 ? this.backup(id) : undefined;
  }

  /** The same for a restore. */
  async beginRestore(id: number): Promise<RestoreRecord | undefined> {
    const text = `update public.restores set state = 'running', attempts = attempts + 1 where id = $1 and ${open}`;
    return (await this.#pool.query(text, [id])).rowCount === 1 ? this.restore(id) : undefined;
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
    await this.#locked(async (client) => {
      await client.query(
        `update public.instances set restoring = false where id =
           (select instance_id from public.restores where id = $1 and ${open})`,
        [id],
      );
      await client.query(
        `update public.restores set state = $2, message = $3, finished_at = clock_timestamp() where id = $1 and ${open}`,
        [id, state, message],
      );
    });
  }

  /** Backups and restores that have not ended, in the order in which they were asked for. */
  async unfinished(): Promise<{
    readonly backups: readonly BackupRecord[];
    readonly restores: readonly RestoreRecord[];
  }> {
    const backups = await this.#pool.query<BackupRecord>(`${selectBackup} where ${open} order by id`);
    const restores = await this.#pool.query<RestoreRecord>(`${selectRestore} where ${open} order by id`);
    return { backups: backups.rows, restores: restores.rows };
  }

  /** Backups whose file is being removed. */
  async deleting(): Promise<readonly BackupRecord[]> {
    return (await this.#pool.query<BackupRecord>(`${selectBackup} where deleting order by id`)).rows;
  }

  /** Done or failed before so many days, save the newest `kept` done ones of each instance and what is being restored. */
  async expired(days: number, kept: number): Promise<readonly BackupRecord[]> {
    const text = `${selectBackup} b where state in ('done', 'failed') and not deleting
      and finished_at < clock_timestamp() - make_interval(days => $1)
      and not exists (select 1 from public.restores r where r.backup_id = b.id and r.${open})
      and (state = 'failed' or id not in (select newest.id from public.backups newest
        where newest.instance_id = b.instance_id and newest.state = 'done' order by newest.id desc limit $2))
      order by id`;
    return (await this.#pool.query<BackupRecord>(text, [days, kept])).rows;
  }

  /** Forgets deleted backups, and restores of them, so many days after they ended. */
  async forgetDeleted(days: number): Promise<void> {
    await this.#pool.query(
      "delete from public.backups where state = 'deleted' and finished_at < clock_timestamp() - make_interval(days => $1)",
      [days],
    );
  }

  /** Numbers of the backups that should have a file, or are to get one. */
  async idsWithFiles(): Promise<ReadonlySet<number>> {
    const text =
      "select id::float8 as id from public.backups where state in ('queued', 'running', 'done') or deleting";
    const { rows } = await this.#pool.query<{ id: number }>(text);
    return new Set(rows.map(({ id }) => id));
  }

  /** Ends backups that have not ended, for their instance goes. */
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

  async #locked<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin");
      const result = await work(client);
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }
}

async function lockInstance(client: PoolClient, id: string): Promise<LockedInstance | undefined> {
  const text = "select operation, state, restoring from public.instances where id = $1 for update";
  return (await client.query<LockedInstance>(text, [id])).rows[0];
}

async function lockBackup(client: PoolClient, id: number): Promise<BackupRecord | undefined> {
  return (await client.query<BackupRecord>(`${selectBackup} where id = $1 for update`, [id])).rows[0];
}

async function idOf(
  inserted: Promise<{ readonly rows: readonly { readonly id: number }[] }>,
): Promise<number> {
  const id = (await inserted).rows[0]?.id;
  if (id === undefined) throw new Error("the server inserted no row");
  return id;
}
