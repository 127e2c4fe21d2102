/** What databases and roles are called, the same on each server. */
export const databases = {
  /** That of the instance. */
  own: "a9s_apps_default_db",
  /** Takes its place when a restore is done. */
  staging: "a8s_staging",
  /** What it is called after that, until it is dropped. */
  retired: "a8s_retired",
  /** The superuser's own. */
  admin: "postgres",
} as const;

/** What a standby is called, and its replication slot; the first has number 1. */
export function standbyName(number: number): string {
  return `a8s_standby_${number}`;
}

export const roles = {
  /** Owns what is in the database, and cannot log in. */
  owner: "a8s_owner",
  /** Dumps and restores: no superuser, because what a dump holds is a tenant's code. */
  keeper: "a8s_keeper",
  /** Standbys copy and follow the server with it. */
  replicator: "a8s_replicator",
} as const;
