/**
 * The superuser's sessions. They work on databases and logins that belong to strangers, so nothing that a stranger set counts in them,
 * and what a stranger's open transaction blocks goes on after a moment: the session that blocks is ended.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientBase, DatabaseError, escapeIdentifier, Pool } from "pg";
import type { Logger } from "@klutch/telemetry";
import { safeSettings, withSession } from "./session.ts";

/** Name of the broker's own database. */
export const adminDatabase = "klutch_broker";

/** Matches names of instances' databases, and of bindings' logins. */
const instanceDatabase = "^i[0-9a-f]{32}$";
export const bindingLogin = "^u[0-9a-f]{32}$";

/** A strange session may block us for this long, and is searched for as often. */
const patienceMs = 1_000;
const attempts = 10;

/** At most eight sessions in the broker's own database and one that ends those that block. What it runs must be such that it can be repeated. */
export class Maintenance implements AsyncDisposable {
  readonly #pool: Pool;
  /** Apart from the pool, all of whose sessions may be blocked. */
  readonly #guard: Pool;
  readonly #url: URL;

  constructor(url: URL, logger: Logger) {
    this.#url = url;
    const connectionString = this.#urlOf(adminDatabase);
    const options = { connectionString, options: safeSettings };
    this.#pool = new Pool({ ...options, max: 8 });
    this.#guard = new Pool({ ...options, max: 1 });
    for (const pool of [this.#pool, this.#guard])
      pool.on("error", (error) => logger.warn("a database connection was lost", { error }));
  }

  /** Sessions in the broker's own database. */
  get pool(): Pool {
    return this.#pool;
  }

  /** Runs statements in the broker's own database, each for itself. Each must be such that it can be repeated. */
  async run(...statements: readonly string[]): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await this.#watched(client, statements);
    } finally {
      client.release();
    }
  }

  /** The same in another database, which is taken from its tenant before. */
  async runIn(database: string, ...statements: readonly string[]): Promise<void> {
    await this.seize(database);
    await withSession(this.#urlOf(database), (client) => this.#watched(client, statements));
  }

  async exists(table: "pg_roles" | "pg_database", name: string): Promise<boolean> {
    const column = table === "pg_roles" ? "rolname" : "datname";
    const { rowCount } = await this.#pool.query(`select 1 from ${table} where ${column} = $1`, [name]);
    return rowCount !== 0;
  }

  /**
   * Makes an instance's database ours: until here its tenant may have been its owner, who can set what breaks every session in it,
   * lift its limit, invite others and keep it from being dropped. Does nothing when it is ours already or not there.
   */
  async seize(database: string): Promise<void> {
    const { rows } = await this.#pool.query<{ isOurs: boolean; isPlain: boolean; guests: string[] }>(
      `select pg_get_userbyid(datdba) = current_user as "isOurs", datallowconn and not datistemplate as "isPlain",
         array(select distinct case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end
               from aclexplode(datacl) where grantee <> datdba) as guests
       from pg_database where datname = $1 and datname ~ $2`,
      [database, instanceDatabase],
    );
    const [found] = rows;
    const name = escapeIdentifier(database);
    if (found?.isPlain === false)
      await this.run(`alter database ${name} with allow_connections true is_template false`);
    if (found?.isOurs !== false) return;
    await this.run(
      `alter database ${name} owner to current_user`,
      `alter database ${name} reset all`,
      ...found.guests.map((guest) => `revoke all on database ${name} from ${guest} cascade`),
    );
  }

  /** Ends the sessions of bindings: of one login, or in one database. */
  async endSessions(of: { readonly login: string } | { readonly database: string }): Promise<void> {
    const [column, value] = "login" in of ? ["usename", of.login] : ["datname", of.database];
    await this.#guard.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where ${column} = $1 and usename ~ $2`,
      [value, bindingLogin],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
    await this.#guard.end();
  }

  async #watched(client: ClientBase, statements: readonly string[]): Promise<void> {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const pid = rows[0]?.pid ?? 0;
    const stop = new AbortController();
    const watching = this.#endWhatBlocks(pid, stop.signal);
    try {
      for (const statement of statements) await repeatedly(() => client.query(statement));
    } finally {
      stop.abort();
      await watching;
    }
  }

  async #endWhatBlocks(pid: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(patienceMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      // What cannot be ended shows as a lock timeout of the statement itself.
      await this.#guard
        .query(
          `select pg_terminate_backend(pid) from pg_stat_activity where pid = any (pg_blocking_pids($1)) and usename ~ $2`,
          [pid, bindingLogin],
        )
        .catch(() => undefined);
    }
  }

  #urlOf(database: string): string {
    const url = new URL(this.#url);
    url.pathname = `/${database}`;
    return url.href;
  }
}

/** A catalog row that somebody else changed at the same moment, and a deadlock, are no reasons to fail. */
async function repeatedly(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      const again = error instanceof DatabaseError && isPassing(error);
      if (!again || attempt === attempts) throw error;
    }
  }
}

function isPassing({ code, message }: DatabaseError): boolean {
  return code === "40P01" || (code === "XX000" && message.startsWith("tuple concurrently "));
}
