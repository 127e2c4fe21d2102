/**
 * Records every row that the broker ever wrote into its store, by triggers of ours in the same transactions, and lists the current
 * contents of its server and its folder. The broker's names of databases and logins are hashes of its ids.
 */
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";

const tables = ["instances", "bindings", "backups", "restores"] as const;

/** One of the broker's tables. */
export type Table = (typeof tables)[number];

/** A row that came or went. */
export interface Entry {
  readonly table: Table;
  readonly did: "INSERT" | "DELETE";
  readonly id: string;
  readonly instanceId: string;
}

/** Databases, roles, rows and files that were not there when the ledger was opened. */
export interface Holdings {
  readonly databases: readonly string[];
  readonly roles: readonly string[];
  /** Rows of the broker's tables, as `table id`. */
  readonly rows: readonly string[];
  readonly files: readonly string[];
}

/** Locates the broker's store and its backups. */
export interface BrokerPlaces {
  /** URL of the superuser. */
  readonly postgresUrl: string;
  readonly backupFolder: string;
}

const setUp = `
  create schema ledger;
  create table ledger.entries (seq bigint generated always as identity, tab text, did text, id text, instance_id text);
  create function ledger.note() returns trigger language plpgsql as $$
  declare written jsonb;
  begin
    if tg_op = 'DELETE' then written := to_jsonb(old); else written := to_jsonb(new); end if;
    insert into ledger.entries (tab, did, id, instance_id)
      values (tg_table_name, tg_op, written->>'id', coalesce(written->>'instance_id', written->>'id'));
    return null;
  end $$;
`;

/** Reads and judges nothing. */
export class Ledger implements AsyncDisposable {
  readonly #places: BrokerPlaces;
  readonly #client: Client;
  #first: Holdings = { databases: [], roles: [], rows: [], files: [] };

  private constructor(places: BrokerPlaces) {
    this.#places = places;
    const url = new URL(places.postgresUrl);
    url.pathname = "/klutch_broker";
    this.#client = new Client({ connectionString: url.href });
  }

  /** Starts to record. No later write is missed. */
  static async open(places: BrokerPlaces): Promise<Ledger> {
    await using stack = new AsyncDisposableStack();
    const ledger = stack.use(new Ledger(places));
    const client = ledger.#client;
    await client.connect();
    await client.query(setUp);
    for (const table of tables)
      await client.query(
        `create trigger ledger after insert or delete on public.${table} for each row execute function ledger.note()`,
      );
    ledger.#first = await ledger.#holdings();
    stack.move();
    return ledger;
  }

  async entries(): Promise<readonly Entry[]> {
    const text = `select tab as "table", did, id, instance_id as "instanceId" from ledger.entries order by seq`;
    return (await this.#client.query<Entry>(text)).rows;
  }

  /** Returns the databases, roles, rows and files that were not there when the ledger was opened. */
  async holdings(): Promise<Holdings> {
    const now = await this.#holdings();
    const news = (key: keyof Holdings): readonly string[] =>
      now[key].filter((one) => !this.#first[key].includes(one));
    return { databases: news("databases"), roles: news("roles"), rows: news("rows"), files: news("files") };
  }

  async #holdings(): Promise<Holdings> {
    const names = async (text: string): Promise<readonly string[]> =>
      (await this.#client.query<{ name: string }>(text)).rows.map(({ name }) => name);
    const rows = tables.map((table) => `select '${table} ' || id as name from public.${table}`);
    return {
      databases: await names("select datname as name from pg_database"),
      roles: await names("select rolname as name from pg_roles"),
      rows: await names(rows.join(" union all ")),
      files: await filesBelow(this.#places.backupFolder),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client.end();
  }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Name of an instance's database. */
export function databaseOf(instanceId: string): string {
  return `i${createHash("sha256").update(instanceId).digest("hex").slice(0, 32)}`;
}
