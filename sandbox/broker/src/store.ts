/** What the broker remembers, in a database of the same server: a restart loses nothing. */
import type { Pool } from "pg";
import type { Parameters } from "./parameter-checks.ts";

/** The operation an instance is in; `none` when it is at rest. */
export type Operation = "none" | "provision" | "update" | "deprovision";

/** An instance. */
export interface Instance {
  readonly id: string;
  readonly planId: string;
  readonly parameters: Parameters;
  readonly operation: Operation;
  /** Of the last operation. */
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
  create table if not exists public.instances (
    id text primary key, plan_id text not null, parameters jsonb not null,
    operation text not null, state text not null, description text not null default '',
    created_at timestamptz not null default now());
  create table if not exists public.bindings (
    instance_id text not null references public.instances (id) on delete cascade,
    id text primary key, salt text not null);
  alter table public.instances add column if not exists restoring boolean not null default false;
`;

/** Instances and bindings. */
export class Store {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async prepare(): Promise<void> {
    await this.#pool.query(tables);
  }

  async instance(id: string): Promise<Instance | undefined> {
    const { rows } = await this.#pool.query<Instance>(`${selectInstance} where id = $1`, [id]);
    return rows[0];
  }

  /** Instances whose operation was running when the broker ended. */
  async unfinished(): Promise<readonly Instance[]> {
    const { rows } = await this.#pool.query<Instance>(`${selectInstance} where state = 'in progress'`);
    return rows;
  }

  /** Instances that are there and at rest. */
  async provisioned(): Promise<readonly Instance[]> {
    const { rows } = await this.#pool.query<Instance>(
      `${selectInstance} where state <> 'in progress' and operation <> 'deprovision' and not (operation = 'provision' and state = 'failed')`,
    );
    return rows;
  }

  /** False when an instance of that id exists. */
  async insert(id: string, planId: string, parameters: Parameters): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      "insert into public.instances (id, plan_id, parameters, operation, state) values ($1, $2, $3, 'provision', 'in progress') on conflict do nothing",
      [id, planId, JSON.stringify(parameters)],
    );
    return rowCount === 1;
  }

  /** Starts an operation; false when another one is running. */
  async begin(
    id: string,
    operation: Operation,
    change: Partial<Pick<Instance, "planId" | "parameters">> = {},
  ): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `update public.instances set operation = $2, state = 'in progress', description = '',
         plan_id = coalesce($3, plan_id), parameters = coalesce($4::jsonb, parameters)
       where id = $1 and not restoring and (state <> 'in progress' or $2 = 'deprovision')`,
      [
        id,
        operation,
        change.planId ?? null,
        change.parameters === undefined ? null : JSON.stringify(change.parameters),
      ],
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

  async insertBinding(binding: Binding): Promise<void> {
    await this.#pool.query(
      "insert into public.bindings (instance_id, id, salt) values ($1, $2, $3) on conflict do nothing",
      [binding.instanceId, binding.id, binding.salt],
    );
  }

  async removeBinding(id: string): Promise<void> {
    await this.#pool.query("delete from public.bindings where id = $1", [id]);
  }
}

const selectInstance =
  'select id, plan_id as "planId", parameters, operation, state, description, restoring from public.instances';
const selectBinding = 'select instance_id as "instanceId", id, salt from public.bindings';
