/** Stores backups and restores. Each method is one statement, so a crash leaves no half of it. */
import { Queries } from "../store.ts";
import type { WrittenFile } from "./files.ts";
import { type BackupRecord, type Records, select } from "./records.ts";

/** Result of a backup or restore. */
export interface Ending {
  readonly state: "done" | "failed";
  readonly message: string;
}

const open = "state in ('queued', 'running')";
const atRest = "not restoring and state <> 'in progress'";

/** Judges nothing but whether an instance is at rest. */
export class BackupStore extends Queries {
  find<T extends keyof Records>(table: T, id: number): Promise<Records[T] | undefined> {
    return this.one<Records[T]>(`${select[table]} where id = $1`, [id]);
  }

  /** Returns those of an instance, the oldest first. */
  ofInstance<T extends keyof Records>(table: T, instanceId: string): Promise<readonly Records[T][]> {
    return this.all<Records[T]>(`${select[table]} where instance_id = $1 order by id`, [instanceId]);
  }

  /** Returns those that wait or run. */
  unfinished<T extends keyof Records>(table: T): Promise<readonly Records[T][]> {
    return this.all<Records[T]>(`${select[table]} where ${open} order by id`);
  }

  /** Returns the number of the backup; undefined when the instance is not at rest. */
  async addBackup(instanceId: string): Promise<number | undefined> {
    const instance = `select id from public.instances where id = $1 and ${atRest}`;
    const text = `insert into public.backups (instance_id) ${instance} returning id::float8 as id`;
    return (await this.one<{ id: number }>(text, [instanceId]))?.id;
  }

  /** Keeps the broker from changing the instance until the restore ends. Returns undefined when the instance is not at rest. */
  async addRestore(instanceId: string, backupId: number): Promise<number | undefined> {
    const text = `with locked as (update public.instances set restoring = true where id = $1 and ${atRest} returning id)
       insert into public.restores (instance_id, backup_id) select id, $2 from locked returning id::float8 as id`;
    return (await this.one<{ id: number }>(text, [instanceId, backupId]))?.id;
  }

  /** Counts one more attempt; returns false when the backup or restore has ended already. */
  begin(table: keyof Records, id: number): Promise<boolean> {
    const text = `update public.${table} set state = 'running', attempts = attempts + 1 where id = $1 and ${open}`;
    return this.run(text, [id]);
  }

  /** Writes down what the file of a backup is like. */
  async setFile(id: number, { size, sha256 }: WrittenFile): Promise<void> {
    const text = "update public.backups set size = $2, sha256 = $3 where id = $1";
    await this.run(text, [id, size, sha256]);
  }

  /** Writes down how it ended. After a restore the broker may change the instance again. */
  async end(table: keyof Records, id: number, { state, message }: Ending): Promise<void> {
    const end = `update public.${table} set state = $2, message = $3, finished_at = clock_timestamp() where id = $1 and ${open}`;
    const unlock = `with ended as (${end} returning instance_id)
       update public.instances set restoring = false where id in (select instance_id from ended)`;
    await this.run(table === "restores" ? unlock : end, [id, state, message]);
  }

  /** Marks that the backup's file is being removed; returns false while the backup runs or is being restored. */
  beginDelete(id: number): Promise<boolean> {
    return this.run(
      `update public.backups b set deleting = true where id = $1 and not ${open}
         and not exists (select 1 from public.restores r where r.backup_id = b.id and r.${open})`,
      [id],
    );
  }

  async finishDelete(id: number, message: string): Promise<void> {
    const text = "update public.backups set state = 'deleted', deleting = false, message = $2";
    await this.run(`${text} where id = $1 and deleting`, [id, message]);
  }

  /** Counts the backup again, because its file could not be removed. */
  async giveUpDelete(id: number): Promise<void> {
    await this.run("update public.backups set deleting = false where id = $1", [id]);
  }

  /** Returns the backups whose file is being removed. */
  deleting(): Promise<readonly BackupRecord[]> {
    return this.all<BackupRecord>(`${select.backups} where deleting order by id`);
  }

  /** Returns backups that ended more than the given number of days ago, except the newest `kept` done ones of each instance. */
  expired(days: number, kept: number): Promise<readonly BackupRecord[]> {
    const newest = `select id from public.backups where instance_id = b.instance_id and state = 'done' order by id desc limit $2`;
    return this.all<BackupRecord>(
      `${select.backups} b where not deleting and finished_at < clock_timestamp() - make_interval(days => $1)
         and (state = 'failed' or state = 'done' and id not in (${newest})) order by id`,
      [days, kept],
    );
  }

  /** Forgets deleted backups, and restores of them, the given number of days after they ended. */
  async forgetDeleted(days: number): Promise<void> {
    const isOld = "finished_at < clock_timestamp() - make_interval(days => $1)";
    await this.run(`delete from public.backups where state = 'deleted' and ${isOld}`, [days]);
  }

  /** Ends backups that have not ended, because their instance goes. */
  async cancel(instanceId: string): Promise<void> {
    await this.run(
      `update public.backups set state = 'failed', message = 'the instance is being deleted', finished_at = clock_timestamp()
       where instance_id = $1 and ${open}`,
      [instanceId],
    );
  }

  /** Removes the records of an instance that goes. */
  async forget(instanceId: string): Promise<void> {
    await this.run("delete from public.backups where instance_id = $1", [instanceId]);
  }
}
