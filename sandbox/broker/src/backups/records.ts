/** Records of backups and restores, and their tables. */

/** States, in the words of the API. */
export type State = "queued" | "running" | "done" | "failed" | "deleted";

interface JobRecord {
  readonly id: number;
  readonly instanceId: string;
  readonly triggeredAt: Date;
  readonly finishedAt: Date | null;
  /** Reason of the failure or the deletion. */
  readonly message: string;
  /** Number of attempts. */
  readonly attempts: number;
}

/** A backup. Numbers rise and are never used twice. */
export interface BackupRecord extends JobRecord {
  readonly state: State;
  /** Its file is being removed, so nothing is restored from it any more. */
  readonly deleting: boolean;
  /** Bytes of its file; null until it is done. */
  readonly size: number | null;
  /** Checksum of its file in hex; null until it is done. */
  readonly sha256: string | null;
}

/** A restore. Its numbers are counted apart from those of backups. */
export interface RestoreRecord extends JobRecord {
  readonly backupId: number;
  readonly state: Exclude<State, "deleted">;
  /** Identifies it for ever, so that it is not done twice. */
  readonly token: string;
}

/** Records by their table. */
export interface Records {
  readonly backups: BackupRecord;
  readonly restores: RestoreRecord;
}

const job = `
    id bigint generated always as identity primary key,
    instance_id text not null references public.instances (id),
    state text not null default 'queued', triggered_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz, message text not null default '', attempts int not null default 0`;

/** Tables beside those of the instances. A backup keeps its instance from being forgotten. */
export const backupTables: string = `
  create table public.backups (${job}, deleting boolean not null default false, size bigint, sha256 text);
  create index backups_of_instance on public.backups (instance_id, id);
  create table public.restores (${job}, backup_id bigint not null references public.backups (id) on delete cascade,
    token text not null default gen_random_uuid()::text);
  create unique index one_restore_of_instance on public.restores (instance_id) where state in ('queued', 'running');
`;

const jobFields = `id::float8 as id, instance_id as "instanceId", state, triggered_at as "triggeredAt", finished_at as "finishedAt", message, attempts`;
/** Reads records of a table. */
export const select: Readonly<Record<keyof Records, string>> = {
  backups: `select ${jobFields}, deleting, size::float8 as size, sha256 from public.backups`,
  restores: `select ${jobFields}, backup_id::float8 as "backupId", token from public.restores`,
};
