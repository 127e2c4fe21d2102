/**
 * Real databases and roles. An instance is a database with an owner role that cannot log in; a binding is a login role that acts
 * as the owner, so what it makes survives the binding. Every step can be repeated after a crash.
 */
import { createHash, createHmac } from "node:crypto";
import { Client, escapeIdentifier, escapeLiteral, type Pool } from "pg";
import type { Binding, Instance } from "./store.ts";
import { connectionLimit, databaseSettings } from "./parameters.ts";
import { findPlan } from "./catalog.ts";

/** What a binding's user needs; the keys are those of a9s PostgreSQL (reference/provider.md §2.4). */
export interface Credentials {
  readonly host: string;
  readonly hosts: readonly string[];
  readonly name: string;
  readonly password: string;
  readonly port: number;
  readonly uri: string;
  readonly username: string;
}

/** Options of `Databases`. */
export interface DatabasesOptions {
  /** Of a superuser. */
  readonly pool: Pool;
  readonly url: URL;
  readonly secretKey: string;
}

const shortHash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);

/** See the module comment. */
export class Databases {
  readonly #pool: Pool;
  readonly #url: URL;
  readonly #secretKey: string;

  constructor(options: DatabasesOptions) {
    this.#pool = options.pool;
    this.#url = options.url;
    this.#secretKey = options.secretKey;
  }

  /** Makes the database or brings it to its plan and parameters. */
  async ensure(instance: Instance): Promise<void> {
    const { database, owner } = namesOf(instance.id);
    if (!(await this.#exists("pg_roles", "rolname", owner)))
      await this.#run(`create role ${quote(owner)} nologin`);
    if (!(await this.#exists("pg_database", "datname", database))) {
      await this.#run(`create database ${quote(database)} owner ${quote(owner)}`);
    }
    await this.#run(`revoke all on database ${quote(database)} from public`);
    const limit = connectionLimit(findPlan(instance.planId)?.connectionLimit ?? 1, instance.parameters);
    await this.#run(`alter database ${quote(database)} connection limit ${limit}`);
    await this.#run(`alter database ${quote(database)} reset all`);
    for (const [setting, value] of databaseSettings(instance.parameters)) {
      await this.#run(`alter database ${quote(database)} set ${quote(setting)} to ${escapeLiteral(value)}`);
    }
  }

  /** Drops the database, whoever is connected, and its roles. */
  async drop(instanceId: string, bindings: readonly Binding[]): Promise<void> {
    const { database, owner } = namesOf(instanceId);
    await this.#run(`drop database if exists ${quote(database)} with (force)`);
    for (const binding of bindings) await this.#run(`drop role if exists ${quote(userOf(binding.id))}`);
    await this.#run(`drop role if exists ${quote(owner)}`);
  }

  /** Makes the binding's login role; repeating it sets the same password again. */
  async bind(binding: Binding): Promise<Credentials> {
    const { database, owner } = namesOf(binding.instanceId);
    const credentials = this.credentials(binding);
    const user = quote(credentials.username);
    if (!(await this.#exists("pg_roles", "rolname", credentials.username))) {
      await this.#run(`create role ${user} nologin in role ${quote(owner)}`);
    }
    await this.#run(`alter role ${user} in database ${quote(database)} set role to ${escapeLiteral(owner)}`);
    await this.#run(`alter role ${user} login password ${escapeLiteral(credentials.password)}`);
    return credentials;
  }

  /** Ends the role's sessions and drops it; what it made under its own name goes to the owner. */
  async unbind(binding: Binding): Promise<void> {
    const { database, owner } = namesOf(binding.instanceId);
    const name = userOf(binding.id);
    if (!(await this.#exists("pg_roles", "rolname", name))) return;
    await this.#run(`alter role ${quote(name)} nologin`);
    await this.#pool.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", [
      name,
    ]);
    const client = new Client({ connectionString: this.#urlOf(database) });
    await client.connect();
    try {
      await client.query(`reassign owned by ${quote(name)} to ${quote(owner)}`);
      await client.query(`drop owned by ${quote(name)}`);
    } finally {
      await client.end();
    }
    await this.#run(`drop role if exists ${quote(name)}`);
  }

  /** The same answer for the same binding: the password follows from the key and the stored salt, and is not stored. */
  credentials(binding: Binding): Credentials {
    const name = namesOf(binding.instanceId).database;
    const username = userOf(binding.id);
    const password = createHmac("sha256", this.#secretKey)
      .update(`${binding.id}/${binding.salt}`)
      .digest("base64url");
    const host = this.#url.hostname;
    const port = Number(this.#url.port);
    const uri = `postgres://${username}:${password}@${host}:${port}/${name}`;
    return { host, hosts: [host], name, password, port, uri, username };
  }

  #urlOf(database: string): string {
    const url = new URL(this.#url);
    url.pathname = `/${database}`;
    return url.href;
  }

  async #exists(table: string, column: string, name: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query(`select 1 from ${table} where ${column} = $1`, [name]);
    return rowCount !== 0;
  }

  async #run(statement: string): Promise<void> {
    await this.#pool.query(statement);
  }
}

const quote = (name: string): string => escapeIdentifier(name);

/** Names in the server; hashed, because identifiers from outside may be long and hold anything. */
function namesOf(instanceId: string): { readonly database: string; readonly owner: string } {
  const hash = shortHash(instanceId);
  return { database: `i${hash}`, owner: `o${hash}` };
}

function userOf(bindingId: string): string {
  return `u${shortHash(bindingId)}`;
}
