/** What the programs of data servers see of the environment: nothing of ours. */

/** Without where to connect. `libraries`: where theirs are, unless the system finds them. */
export function programEnvironment(libraries: string | undefined): Readonly<Record<string, string>> {
  const base = { LC_ALL: "C", PATH: "/usr/bin:/bin" };
  return libraries === undefined ? base : { ...base, LD_LIBRARY_PATH: libraries };
}

/** Where a program of PostgreSQL connects, and as whom. */
export interface PostgresLogin {
  readonly url: URL;
  readonly user: string;
  readonly password: string;
  readonly libraries: string | undefined;
}

/** They come with the connection, and so before the parameters that a tenant chose for its database. */
const withoutLimits = [
  "statement_timeout",
  "idle_in_transaction_session_timeout",
  "idle_session_timeout",
  "lock_timeout",
]
  .map((setting) => `-c ${setting}=0`)
  .join(" ");

/** For `pg_dump` and its kin: the login, whose password no argument shows, and no time limits. */
export function postgresEnvironment({
  url,
  user,
  password,
  libraries,
}: PostgresLogin): Readonly<Record<string, string>> {
  return {
    ...programEnvironment(libraries),
    // An IPv6 address stands in brackets in a URL only.
    PGHOST: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    PGPORT: url.port === "" ? "5432" : url.port,
    PGUSER: user,
    PGPASSWORD: password,
    PGCONNECT_TIMEOUT: "30",
    PGOPTIONS: withoutLimits,
  };
}
