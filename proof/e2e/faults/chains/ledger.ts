/**
 * Records every row that the broker ever wrote into its store, by triggers of ours in the same transactions, and lists the current
 * contents of its server and its folder. The broker's names of databases and logins are hashes of its ids.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { numberAt, textAt } from "@klutch/kube-core";
import { Client } from "pg";

/** The broker's tables. A chain makes one row in each. */
export const tables = ["instances", "bindings", "backups", "restores"] as const;

/** One of them. */
export type Table = (typeof tables)[number];

/** A row that came or went. */
export interface Entry {
  readonly table: Table;
  readonly did: "INSERT" | "DELETE";
  readonly id: string;
  readonly instanceId: string;
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
export interface Ledger extends AsyncDisposable {
  entries(): Promise<readonly Entry[]>;
  /** Returns the databases, roles, rows and files that were not there when the ledger was opened, as words. */
  holdings(): Promise<readonly string[]>;
}

/** Starts to record in a sandbox, which is up, by its folder. No later write is missed. */
export async function openLedger(folder: string): Promise<Ledger> {
  await using stack = new AsyncDisposableStack();
  const client = new Client({ connectionString: await storeUrl(folder) });
  stack.defer(() => client.end());
  await client.connect();
  await client.query(setUp);
  for (const table of tables)
    await client.query(
      `create trigger ledger after insert or delete on public.${table} for each row execute function ledger.note()`,
    );
  const holdings = async (): Promise<readonly string[]> => {
    const rows = tables.map((table) => `union all select '${table} ' || id from public.${table}`);
    const text = `select 'database ' || datname as name from pg_database
      union all select 'role ' || rolname from pg_roles ${rows.join(" ")}`;
    const held = await client.query<{ name: string }>(text);
    const files = await readdir(join(folder, "backups"), { recursive: true, withFileTypes: true });
    const paths = files.filter((one) => one.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    return [...held.rows.map(({ name }) => name), ...paths];
  };
  const first = await holdings();
  return Object.assign(stack.move(), {
    async entries() {
      const text = `select tab as "table", did, id, instance_id as "instanceId" from ledger.entries order by seq`;
      return (await client.query<Entry>(text)).rows;
    },
    holdings: async () => (await holdings()).filter((one) => !first.includes(one)),
  });
}

/** Returns the URL of the broker's database, for the superuser of the sandbox's PostgreSQL. */
async function storeUrl(folder: string): Promise<string> {
  const state: unknown = JSON.parse(await readFile(join(folder, "sandbox.json"), "utf8"));
  const port = numberAt(state, "ports", "postgres");
  const password = textAt(state, "secrets", "postgresPassword");
  if (port === undefined || password === undefined) throw new Error("the sandbox kept no port or password");
  return `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/klutch_broker`;
}

/** Name of an instance's database. */
export function databaseOf(instanceId: string): string {
  return `i${createHash("sha256").update(instanceId).digest("hex").slice(0, 32)}`;
}
