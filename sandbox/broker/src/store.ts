/** Stores instances and bindings in a database of the broker's PostgreSQL server, so that a restart loses nothing. */
import { closeCommonDatabases, exists, literal, quote, runAll, withSession } from "@klutch/data-servers";
import type { Logger } from "@klutch/telemetry";
import { Pool } from "pg";
import { backupTables } from "./backups/records.ts";
import type { Parameters } from "./drivers/parameters.ts";

/** Name of the broker's own database. */
export const adminDatabase = "klutch_broker";
/** Version of what the broker keeps; another one cannot be read. */
const version = "klutch broker 2";

/** The operation of an instance; `none` when it is at rest. */
export type Operation = "none" | "provision" | "update" | "deprovision";

/** An instance. */
export interface Instance {
  readonly id: string;
  readonly planId: string;
  readonly parameters: Parameters;
  readonly operation: Operation;
  /** State of the last operation. */
  readonly state: "in progress" | "succeeded" | "failed";
  readonly description: string;
  /** Its data are being replaced by those of a backup; nothing else may be done to it. */
  readonly restoring: boolean;
}

/** A binding; its password is derived from the salt. */
export interface Binding {
  readonly instanceId: string;
  readonly id: string;
  readonly salt: string;
}

const tables = `
  create table public.instances (
    id text primary key, plan_id text not null, parameters jsonb not null,
    operation text not null, state text not null, description text not null default '',
    restoring boolean not null default false, created_at timestamptz not null default now());
  create table public.bindings (
    instance_id text not null references public.instances (id) on delete cascade,
    id text primary key, salt text not null);
`;

/** Opens the broker's database, and makes it if it does not exist. Throws when an older broker made it. */
export async function openPool(url: URL, logger: Logger): Promise<Pool> {
  await withSession(url, async (client) => {
    await closeCommonDatabases(client);
    if (await exists(client, "pg_database", adminDatabase)) return;
    await runAll(
      client,
      `create database ${quote(adminDatabase)} template template0`,
      `revoke all on database ${quote(adminDatabase)} from public`,
    );
  });
  const own = new URL(url);
  own.pathname = `/${adminDatabase}`;
  const pool = new Pool({ connectionString: own.href, max: 8 });
  pool.on("error", (error) => logger.warn("a database connection was lost", { error }));
  try {
    await makeTables(pool);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return pool;
}

async function makeTables(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ made: boolean; mark: string | null }>(
    "select to_regclass('public.instances') is not null as made, obj_description('public'::regnamespace, 'pg_namespace') as mark",
  );
  const made = rows[0]?.made === true;
  if (made && rows[0]?.mark !== version)
    throw new Error(
      "the instances in this PostgreSQL server were made by an older broker, which this one cannot read; start again with `npm run sandbox -- --reset`, which removes them",
    );
  if (!made) await pool.query(`${tables} ${backupTables} comment on schema public is ${literal(version)}`);
}

/** Instances and bindings. */
export class Store {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async instance(id: string): Promise<Instance | undefined> {
    const { rows } = await this.#pool.query<Instance>(`${selectInstance} where id = $1`, [id]);
    return rows[0];
  }

  async instanceIds(): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<{ id: string }>("select id from public.instances order by id");
    return rows.map(({ id }) => id);
  }

  /** Returns the instances whose operation was running when the broker ended. */
  async unfinished(): Promise<readonly Instance[]> {
    const { rows } = await this.#pool.query<Instance>(`${selectInstance} where state = 'in progress'`);
    return rows;
  }

  /** Returns the instances that exist and are at rest. */
  async provisioned(): Promise<readonly Instance[]> {
    const { rows } = await this.#pool.query<Instance>(
      `${selectInstance} where state <> 'in progress' and operation <> 'deprovision' and not (operation = 'provision' and state = 'failed')`,
    );
    return rows;
  }

  /** Returns false when an instance of that id exists. */
  async insert(id: string, planId: string, parameters: Parameters): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      "insert into public.instances (id, plan_id, parameters, operation, state) values ($1, $2, $3, 'provision', 'in progress') on conflict do nothing",
      [id, planId, JSON.stringify(parameters)],
    );
    return rowCount === 1;
  }

  /** Starts an operation; returns false when another one or a restore is running. */
  async begin(
    id: string,
    operation: Operation,
    { planId, parameters }: Partial<Pick<Instance, "planId" | "parameters">> = {},
  ): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `update public.instances set operation = $2, state = 'in progress', description = '',
         plan_id = coalesce($3, plan_id), parameters = coalesce($4::jsonb, parameters)
       where id = $1 and not restoring and (state <> 'in progress' or $2 = 'deprovision')`,
      [id, operation, planId ?? null, parameters === undefined ? null : JSON.stringify(parameters)],
    );
    return rowCount === 1;
  }

  async finish(
    id: string,
    operation: Operation,
    state: "succeeded" | "failed",
    description: string,
  ): Promise<void> {
    await this.#pool.query(
      "update public.instances set state = $3, description = $4 where id = $1 and operation = $2",
      [id, operation, state, description],
    );
  }

  async remove(id: string): Promise<void> {
    await this.#pool.query("delete from public.instances where id = $1", [id]);
  }

  async binding(id: string): Promise<Binding | undefined> {
    const { rows } = await this.#pool.query<Binding>(`${selectBinding} where id = $1`, [id]);
    return rows[0];
  }

  async bindingsOf(instanceId: string): Promise<readonly Binding[]> {
    const { rows } = await this.#pool.query<Binding>(`${selectBinding} where instance_id = $1`, [instanceId]);
    return rows;
  }

  async insertBinding({ instanceId, id, salt }: Binding): Promise<void> {
    await this.#pool.query(
      "insert into public.bindings (instance_id, id, salt) values ($1, $2, $3) on conflict do nothing",
      [instanceId, id, salt],
    );
  }

  async removeBinding(id: string): Promise<void> {
    await this.#pool.query("delete from public.bindings where id = $1", [id]);
  }
}

const selectInstance =
  'select id, plan_id as "planId", parameters, operation, state, description, restoring from public.instances';
const selectBinding = 'select instance_id as "instanceId", id, salt from public.bindings';
