/** What the backup manager remembers of a backup and of a restore. */

/** The words of the API. */
export type State = "queued" | "running" | "done" | "failed" | "deleted";

/** A backup. Numbers rise and are never used twice. */
export interface BackupRecord {
  readonly id: number;
  readonly instanceId: string;
  readonly state: State;
  /** Its file is being removed: nothing is restored from it any more. */
  readonly deleting: boolean;
  /** Bytes of its file; null until it is done. */
  readonly size: number | null;
  /** Of its file, in hex; null until it is done. */
  readonly sha256: string | null;
  /** The instance's own encryption key when it began, encrypted; null when it had none. */
  readonly sealedKey: string | null;
  readonly triggeredAt: Date;
  readonly finishedAt: Date | null;
  /** Why it failed, or why it is gone. */
  readonly message: string;
  /** How often it was begun. */
  readonly attempts: number;
}

/** A restore. Its numbers are counted apart from those of backups. */
export interface RestoreRecord {
  readonly id: number;
  readonly instanceId: string;
  readonly backupId: number;
  readonly state: Exclude<State, "deleted">;
  /** Names it for all time, so that it is not done twice. */
  readonly token: string;
  readonly triggeredAt: Date;
  readonly finishedAt: Date | null;
  readonly message: string;
  readonly attempts: number;
}

/** How one instance is backed up. */
export interface BackupSettings {
  /** Encrypted. */
  readonly sealedKey: string | null;
  readonly excludeFromAutoBackup: boolean;
}

/** Made beside the tables of the instances. A backup keeps its instance from being forgotten. */
export const tables = `
  create table if not exists public.backup_settings (
    instance_id text primary key references public.instances (id) on delete cascade,
    sealed_key text, exclude_from_auto_backup boolean not null default false);
  create table if not exists public.backups (
    id bigint generated always as identity primary key,
    instance_id text not null references public.instances (id),
    state text not null default 'queued', deleting boolean not null default false,
    size bigint, sha256 text, sealed_key text,
    triggered_at timestamptz not null default clock_timestamp(), finished_at timestamptz,
    message text not null default '', attempts int not null default 0);
  create index if not exists backups_of_instance on public.backups (instance_id, id);
  create table if not exists public.restores (
    id bigint generated always as identity primary key,
    instance_id text not null references public.instances (id),
    backup_id bigint not null references public.backups (id) on delete cascade,
    state text not null default 'queued', token text not null default gen_random_uuid()::text,
    triggered_at timestamptz not null default clock_timestamp(), finished_at timestamptz,
    message text not null default '', attempts int not null default 0);
  create unique index if not exists one_restore_of_instance on public.restores (instance_id)
    where state in ('queued', 'running');
`;

export const selectBackup = `select id::float8 as id, instance_id as "instanceId", state, deleting, size::float8 as size, sha256,
  sealed_key as "sealedKey", triggered_at as "triggeredAt", finished_at as "finishedAt", message, attempts from public.backups`;

export const selectRestore = `select id::float8 as id, instance_id as "instanceId", backup_id::float8 as "backupId", state, token,
  triggered_at as "triggeredAt", finished_at as "finishedAt", message, attempts from public.restores`;
