/** The database and the logins of a running server, and its standbys, each in a folder beside the server's. Every step can be repeated after a crash. */
import { createHmac } from "node:crypto";
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type Authority, hostInUrl, postgres, postgresTls } from "@klutch/data-servers";
import { EngineError, type PostgresServer, removeDataHome, startStandby } from "@klutch/engines";

/** The database of each instance, the same on each server. */
const databaseName = "a9s_apps_default_db";

export const roles = {
  /** Owns the contents of the database, and cannot log in. */
  owner: "a8s_owner",
  /** Exists during a restore. */
  keeper: "a8s_keeper",
  /** Standbys copy and follow the server with it. */
  replicator: "a8s_replicator",
} as const;

/** A server that runs. */
export interface Server {
  /** URL of the superuser, by loopback. */
  readonly url: URL;
  /** Name or address by which applications reach it, at the same port. */
  readonly host: string;
  /** PEM; clients trust it. */
  readonly authority: string;
  /** Passwords are derived from it. */
  readonly key: string;
  readonly programs: postgres.DumpPrograms | undefined;
}

/** Returns the name of a standby and of its replication slot; the first has number 1. */
export function standbyName(number: number): string {
  return `a8s_standby_${number}`;
}

/** Returns the login of a binding. */
export function loginOf(bindingUid: string): string {
  return `u${bindingUid.replaceAll("-", "")}`;
}

/** Returns the instance's database. The server's settings limit its sessions. */
export function databaseOf({ url, programs }: Server): postgres.Database {
  const { owner, keeper } = roles;
  return { url, name: databaseName, owner, keeper, connections: -1, programs };
}

/** Derives the password of a login: always the same, and stored nowhere. */
export function passwordOf({ key }: Server, login: string): string {
  return createHmac("sha256", key).update(login).digest("base64url");
}

/** Returns the credentials of a login, by the keys of a9s services. */
export function credentialsOf(server: Server, username: string): Readonly<Record<string, string>> {
  const { host, authority: cacrt } = server;
  const password = passwordOf(server, username);
  const { port } = server.url;
  const uri = `postgres://${username}:${password}@${hostInUrl(host)}:${port}/${databaseName}`;
  return { cacrt, host, hosts: `[${host}]`, name: databaseName, password, port, uri, username };
}

/**
 * Makes the login and a slot for each of `count` standbys, and drops the slots of others, which must not run any more. Returns the numbers of
 * standbys whose copies are useless, because no slot kept the changes since they were made.
 */
export async function ensureSlots(server: Server, count: number): Promise<readonly number[]> {
  return postgres.withSession(server.url, async (client) => {
    if (count > 0) {
      const user = postgres.quote(roles.replicator);
      const password = postgres.literal(passwordOf(server, roles.replicator));
      if (!(await postgres.exists(client, "pg_roles", roles.replicator)))
        await postgres.runAll(client, `create role ${user} nologin`);
      await postgres.runAll(client, `alter role ${user} login replication password ${password}`);
    }
    // For these slots the server still has all changes.
    const { rows } = await client.query<{ name: string }>(
      "select slot_name as name from pg_replication_slots where wal_status in ('reserved', 'extended', 'unreserved')",
    );
    const kept = new Set(rows.map(({ name }) => name));
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    await client.query(
      "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name like 'a8s\\_standby\\_%' and not slot_name = any ($1)",
      [numbers.map(standbyName).filter((name) => kept.has(name))],
    );
    const missing = numbers.filter((number) => !kept.has(standbyName(number)));
    for (const number of missing)
      await client.query("select pg_create_physical_replication_slot($1, true)", [standbyName(number)]);
    return missing;
  });
}

/** Counts the standbys that follow the server at this moment. */
export async function countStreaming(server: Server): Promise<number> {
  return postgres.withSession(server.url, async (client) => {
    const { rowCount } = await client.query(
      "select from pg_stat_replication where state = 'streaming' and application_name like 'a8s\\_standby\\_%'",
    );
    return rowCount ?? 0;
  });
}

/** A server that standbys can follow. */
export interface Primary extends Server {
  readonly settings: Readonly<Record<string, string>>;
  readonly server: PostgresServer;
}

/** Options of `Standbys`. */
export interface StandbysOptions {
  /** The server's own folder. */
  readonly home: string;
  readonly authority: Authority;
  /** Called when a standby ended unasked. */
  readonly onEnd: () => void;
}

/** The standbys of one server. Call one method at a time. */
export class Standbys {
  readonly #options: StandbysOptions;
  readonly #running = new Map<number, PostgresServer>();

  constructor(options: StandbysOptions) {
    this.#options = options;
  }

  /** Starts missing standbys, and removes surplus ones. */
  async keep(primary: Primary, count: number): Promise<void> {
    for (const number of await this.#numbersOnDisk()) if (number > count) await this.#remove(number);
    for (const number of await ensureSlots(primary, count)) await this.#remove(number);
    for (let number = 1; number <= count; number++)
      if (this.#running.get(number)?.process.hasExited !== false) await this.#start(primary, number);
  }

  /** Stops all; their data stay. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((number) => this.#stop(number)));
  }

  /** Removes all with their data. */
  async remove(): Promise<void> {
    for (const number of await this.#numbersOnDisk()) await this.#remove(number);
  }

  async #start(primary: Primary, number: number): Promise<void> {
    const { settings, server } = primary;
    const name = standbyName(number);
    const dataDir = this.#homeOf(number);
    const start = async (): Promise<PostgresServer> =>
      startStandby({
        primary: server,
        dataDir,
        name,
        user: roles.replicator,
        password: passwordOf(primary, roles.replicator),
        settings: { ...settings, ...(await postgresTls(this.#options.authority, dataDir)) },
      });
    const started = await start().catch(async (error: unknown) => {
      if (!(error instanceof EngineError)) throw error;
      // A copy that cannot be followed any more, such as one that was started with smaller bounds than the server has.
      await removeDataHome(dataDir);
      return start();
    });
    this.#running.set(number, started);
    void started.process.exited.then(() => {
      if (this.#running.get(number) === started) this.#options.onEnd();
    });
  }

  async #stop(number: number): Promise<void> {
    const running = this.#running.get(number);
    this.#running.delete(number);
    await running?.[Symbol.asyncDispose]();
  }

  async #remove(number: number): Promise<void> {
    await this.#stop(number);
    await removeDataHome(this.#homeOf(number));
  }

  #homeOf(number: number): string {
    return `${this.#options.home}.standby-${number}`;
  }

  async #numbersOnDisk(): Promise<readonly number[]> {
    const prefix = `${basename(this.#options.home)}.standby-`;
    const names = await readdir(dirname(this.#options.home));
    return names.filter((name) => name.startsWith(prefix)).map((name) => Number(name.slice(prefix.length)));
  }
}
