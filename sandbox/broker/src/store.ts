/** Stores instances and bindings in a database of the broker's PostgreSQL server, so that a restart loses nothing. */
import { postgres } from "@klutch/data-servers";
import type { Logger } from "@klutch/telemetry";
import { Pool, type QueryResultRow } from "pg";
import { backupTables } from "./backups/records.ts";
import type { Parameters } from "./drivers/parameters.ts";

/** Name of the broker's own database. */
export const adminDatabase = "klutch_broker";
/** Version of what the broker keeps; another one cannot be read. */
const version = "klutch broker 2";

/** The operation of an instance; `none` when it is at rest. */
export type Operation = "provision" | "update" | "deprovision";

/** An instance, with the state of its last operation. */
export interface Instance {
  readonly id: string;
  readonly planId: string;
  readonly parameters: Parameters;
  readonly operation: Operation;
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

/** Result that is kept of the looks at an instance. */
export interface SeenActivity {
  readonly bytes: number;
  readonly lastSession: Date;
  readonly epoch: string;
  readonly sessions: number;
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

/** Made in databases of earlier brokers, too. */
const activityTable = `
  create table if not exists public.activities (
    instance_id text primary key references public.instances (id) on delete cascade,
    bytes bigint not null, last_session timestamptz not null, epoch text not null, sessions bigint not null);
`;

/** Opens the broker's database, and makes it if it does not exist. Throws when an older broker made it. */
export async function openDatabase(url: URL, logger: Logger): Promise<Pool & AsyncDisposable> {
  await postgres.withSession(url, async (client) => {
    await postgres.runAll(client, postgres.closeCommonDatabases);
    if (await postgres.exists(client, "pg_database", adminDatabase)) return;
    const name = postgres.quote(adminDatabase);
    const create = `create database ${name} template template0`;
    await postgres.runAll(client, create, `revoke all on database ${name} from public`);
  });
  const own = new URL(url);
  own.pathname = `/${adminDatabase}`;
  const pool = new Pool({ connectionString: own.href, max: 8 });
  pool.on("error", (error) => logger.warn("a database connection was lost", { error }));
  const opened = Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end() });
  await using stack = new AsyncDisposableStack();
  stack.use(opened);
  await makeTables(new Queries(pool));
  stack.move();
  return opened;
}

async function makeTables(queries: Queries): Promise<void> {
  const found = await queries.one<{ made: boolean; mark: string | null }>(
    "select to_regclass('public.instances') is not null as made, obj_description('public'::regnamespace, 'pg_namespace') as mark",
  );
  if (found?.made !== true)
    await queries.run(`${tables} ${backupTables} comment on schema public is ${postgres.literal(version)}`);
  else if (found.mark !== version)
    throw new Error(
      "the instances in this PostgreSQL server were made by an older broker, which this one cannot read; start again with `npm run sandbox -- --reset`, which removes them",
    );
  await queries.run(activityTable);
}

/** Runs statements in the broker's database. */
export class Queries {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async all<T extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<readonly T[]> {
    return (await this.#pool.query<T>(text, [...values])).rows;
  }

  async one<T extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<T | undefined> {
    return (await this.all<T>(text, values))[0];
  }

  /** Reports whether the statement changed a row. */
  async run(text: string, values: readonly unknown[] = []): Promise<boolean> {
    const { rowCount } = await this.#pool.query(text, values.length === 0 ? undefined : [...values]);
    return (rowCount ?? 0) > 0;
  }
}

/** Instances and bindings. */
export class Store extends Queries {
  instance(id: string): Promise<Instance | undefined> {
    return this.one<Instance>(`${selectInstance} where id = $1`, [id]);
  }

  async instanceIds(): Promise<readonly string[]> {
    const rows = await this.all<{ id: string }>("select id from public.instances order by id");
    return rows.map(({ id }) => id);
  }

  /** Returns the instances whose operation was running when the broker ended. */
  unfinished(): Promise<readonly Instance[]> {
    return this.all<Instance>(`${selectInstance} where state = 'in progress'`);
  }

  /** Returns the instances that exist and are at rest. */
  provisioned(): Promise<readonly Instance[]> {
    const isThere = "operation <> 'deprovision' and not (operation = 'provision' and state = 'failed')";
    return this.all<Instance>(`${selectInstance} where state <> 'in progress' and ${isThere}`);
  }

  /** Returns false when an instance of that id exists. */
  insert(id: string, planId: string, parameters: Parameters): Promise<boolean> {
    return this.run(
      "insert into public.instances (id, plan_id, parameters, operation, state) values ($1, $2, $3, 'provision', 'in progress') on conflict do nothing",
      [id, planId, JSON.stringify(parameters)],
    );
  }

  /** Starts an operation; returns false when another one or a restore is running. */
  begin(
    id: string,
    operation: Operation,
    { planId, parameters }: Partial<Pick<Instance, "planId" | "parameters">> = {},
  ): Promise<boolean> {
    return this.run(
      `update public.instances set operation = $2, state = 'in progress', description = '',
         plan_id = coalesce($3, plan_id), parameters = coalesce($4::jsonb, parameters)
       where id = $1 and not restoring and (state <> 'in progress' or $2 = 'deprovision')`,
      [id, operation, planId ?? null, parameters === undefined ? null : JSON.stringify(parameters)],
    );
  }

  async finish(id: string, operation: Operation, state: Instance["state"], words: string): Promise<void> {
    const text = "update public.instances set state = $3, description = $4 where id = $1 and operation = $2";
    await this.run(text, [id, operation, state, words]);
  }

  /** Returns the result of the looks at an instance. */
  async activity(id: string): Promise<SeenActivity | undefined> {
    const found = await this.one<Record<"bytes" | "sessions" | "epoch", string> & { lastSession: Date }>(
      'select bytes, last_session as "lastSession", epoch, sessions from public.activities where instance_id = $1',
      [id],
    );
    return found === undefined
      ? undefined
      : { ...found, bytes: Number(found.bytes), sessions: Number(found.sessions) };
  }

  /** Does nothing for an instance that is gone meanwhile. */
  async saveActivity(id: string, { bytes, lastSession, epoch, sessions }: SeenActivity): Promise<void> {
    await this.run(
      `insert into public.activities (instance_id, bytes, last_session, epoch, sessions)
       select id, $2, $3, $4, $5 from public.instances where id = $1
       on conflict (instance_id) do update set bytes = $2, last_session = $3, epoch = $4, sessions = $5`,
      [id, bytes, lastSession, epoch, sessions],
    );
  }

  async remove(id: string): Promise<void> {
    await this.run("delete from public.instances where id = $1", [id]);
  }

  binding(id: string): Promise<Binding | undefined> {
    return this.one<Binding>(`${selectBinding} where id = $1`, [id]);
  }

  bindingsOf(instanceId: string): Promise<readonly Binding[]> {
    return this.all<Binding>(`${selectBinding} where instance_id = $1`, [instanceId]);
  }

  async insertBinding({ instanceId, id, salt }: Binding): Promise<void> {
    const text = "insert into public.bindings (instance_id, id, salt) values ($1, $2, $3)";
    await this.run(`${text} on conflict do nothing`, [instanceId, id, salt]);
  }

  async removeBinding(id: string): Promise<void> {
    await this.run("delete from public.bindings where id = $1", [id]);
  }
}

const selectInstance =
  'select id, plan_id as "planId", parameters, operation, state, description, restoring from public.instances';
const selectBinding = 'select instance_id as "instanceId", id, salt from public.bindings';
