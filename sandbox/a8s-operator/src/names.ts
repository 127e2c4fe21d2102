/** Names of databases and roles, the same on each server. */
export const databases = {
  /** The instance's own. */
  own: "a9s_apps_default_db",
  /** The superuser's. */
  admin: "postgres",
} as const;

export const roles = {
  /** Owns what is in the database, and cannot log in. */
  owner: "a8s_owner",
  /** Exists during a restore. */
  keeper: "a8s_keeper",
  /** Standbys copy and follow the server with it. */
  replicator: "a8s_replicator",
} as const;

/** Returns the name of a standby and of its replication slot; the first has number 1. */
export function standbyName(number: number): string {
  return `a8s_standby_${number}`;
}

/** Returns the login of a binding. */
export function loginOf(bindingUid: string): string {
  return `u${bindingUid.replaceAll("-", "")}`;
}
