/** The PostgreSQL driver: each instance is a database in one server, and each binding a login that acts as the database's owner. */
import type { Writable } from "node:stream";
import { hostInUrl, postgres } from "@klutch/data-servers";
import { type Plan, planOf } from "../catalog.ts";
import type { BrokerConfig } from "../config.ts";
import { loginOf, namesOf, userOf } from "../names.ts";
import type { Binding, Instance } from "../store.ts";
import type { Activity, Credentials, Driver, DriverKind } from "./driver.ts";
import * as check from "./parameters.ts";

const number = check.wholeNumber(-1);
const word = check.textLike(/^[\w.]{1,32}$/, "a short word or size such as 4MB");
const sizes = ["work_mem", "maintenance_work_mem", "effective_cache_size", "track_io_timing"];
const logging = ["synchronous_commit", "client_min_messages", "log_statement", "log_error_verbosity"];
const settings: check.ParameterChecks = {
  statement_timeout: number,
  idle_in_transaction_session_timeout: number,
  temp_file_limit: number,
  ...Object.fromEntries([...sizes, ...logging].map((name) => [name, word])),
};

/** `max_connections` changes the connection limit instead of a setting. */
export const postgresParameters: check.ParameterChecks = { max_connections: number, ...settings };

/** Returns the settings of the database, by name. Temporary files are limited to the smaller of plan and parameter. */
export function databaseSettings(plan: Plan, parameters: check.Parameters): Readonly<Record<string, string>> {
  const files = check.smaller(plan.diskMiB * 1024, parameters["temp_file_limit"], 0);
  const all = Object.entries({ ...parameters, temp_file_limit: files });
  return Object.fromEntries(
    all.filter(([name]) => Object.hasOwn(settings, name)).map(([name, value]) => [name, String(value)]),
  );
}

/** Returns how many sessions are allowed at the same time: the smaller of plan and parameter. */
export function connectionLimit(plan: Plan, parameters: check.Parameters): number {
  return check.smaller(plan.connectionLimit, parameters["max_connections"], 1);
}

/** Options of `PostgresDriver`. */
export interface PostgresDriverOptions extends Pick<BrokerConfig, "published" | "secretKey"> {
  /** URL of the server's superuser. */
  readonly url: URL;
  /** Undefined: there are no backups. */
  readonly programs: postgres.DumpPrograms | undefined;
}

/** It remembers nothing between two calls but its own sessions in databases, which a look must not take for those of clients. */
export class PostgresDriver implements Driver {
  readonly kind: DriverKind = { type: "postgresql", parameters: postgresParameters };
  readonly obstacle: string | undefined;
  readonly #options: PostgresDriverOptions;
  readonly #dumps = new Map<string, number>();

  constructor(options: PostgresDriverOptions) {
    this.#options = options;
    this.obstacle = postgres.dumpObstacle(options);
  }

  async ensure(instance: Instance): Promise<void> {
    await postgres.ensureDatabase(this.#databaseOf(instance));
  }

  async resume(instance: Instance): Promise<void> {
    const database = this.#databaseOf(instance);
    await postgres.withSession(database.url, (client) => postgres.openDatabase(client, database));
  }

  async drop(instance: Instance, bindings: readonly Binding[]): Promise<void> {
    const users = bindings.map(({ id }) => userOf(id));
    await postgres.dropDatabase(this.#databaseOf(instance), users);
  }

  async bind(binding: Binding, instance: Instance): Promise<Credentials> {
    const login = loginOf(binding, this.#options.secretKey);
    await postgres.ensureLogin(this.#databaseOf(instance), login);
    return this.credentials(binding);
  }

  async unbind(binding: Binding, instance: Instance): Promise<void> {
    await postgres.dropLogin(this.#databaseOf(instance), userOf(binding.id));
  }

  credentials(binding: Binding): Promise<Credentials> {
    const { url, published, secretKey } = this.#options;
    const name = namesOf(binding.instanceId).database;
    const { username, password } = loginOf(binding, secretKey);
    // An IPv6 address has brackets in a URL only.
    const host = (published?.url ?? url).hostname.replace(/^\[(.*)\]$/, "$1");
    const port = Number((published?.url ?? url).port);
    const uri = `postgres://${username}:${password}@${hostInUrl(host)}:${port}/${name}`;
    const trusted = published === undefined ? {} : { cacrt: published.authority };
    return Promise.resolve({ ...trusted, host, hosts: [host], name, password, port, uri, username });
  }

  /** A request of a tenant, such as a restore or the end of a binding, counts as use. */
  async *activity(instances: readonly Instance[]): AsyncGenerator<readonly [Instance, Activity]> {
    const names = new Map(instances.map((instance) => [namesOf(instance.id).database, instance]));
    const { url } = this.#options;
    const found = await postgres.withSession(url, (client) => postgres.activityOf(client, [...names.keys()]));
    for (const { name, ...activity } of found) {
      const instance = names.get(name);
      if (instance === undefined) continue;
      const own = this.#dumps.get(instance.id) ?? 0;
      this.#dumps.delete(instance.id);
      yield [instance, { ...activity, own }];
    }
  }

  async dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void> {
    this.#dumps.set(instance.id, (this.#dumps.get(instance.id) ?? 0) + 1);
    await postgres.dumpDatabase(this.#databaseOf(instance), to, signal);
  }

  async restore(instance: Instance, _: unknown, options: postgres.RestoreOptions): Promise<void> {
    await postgres.restoreDatabase(this.#databaseOf(instance), options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #databaseOf(instance: Instance): postgres.Database {
    const { url, programs } = this.#options;
    const { database: name, owner, keeper } = namesOf(instance.id);
    const plan = planOf(instance);
    const connections = connectionLimit(plan, instance.parameters);
    const settings = databaseSettings(plan, instance.parameters);
    return { url, name, owner, keeper, connections, settings, programs };
  }
}
