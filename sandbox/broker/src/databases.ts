/**
 * Real databases and roles. An instance is a database of the broker's, in which an owner role that cannot log in may make what it
 * likes; a binding is a login role that acts as the owner, so what it makes survives the binding. The database itself is not the
 * tenant's: its owner could lift its limits and invite others. Every step can be repeated after a crash.
 */
import { randomBytes } from "node:crypto";
import { hostInUrl } from "@klutch/data-servers";
import { escapeIdentifier, escapeLiteral } from "pg";
import type { Backend } from "./backend.ts";
import { type DatabasePlan, plans } from "./catalog.ts";
import type { Maintenance } from "./maintenance.ts";
import { namesOf, passwordOf, userOf } from "./names.ts";
import { connectionLimit, databaseSettings } from "./parameters.ts";
import { dropRole } from "./roles.ts";
import { scramVerifier } from "./scram.ts";
import type { Binding, Instance } from "./store.ts";

/** What a binding's user needs; the keys are those of a9s PostgreSQL. */
interface Credentials {
  readonly cacrt?: string;
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
  readonly maintenance: Maintenance;
  /** Of the server, as bindings reach it. */
  readonly url: URL;
  /** PEM of the authority of the server's certificate. Default: bindings are told none. */
  readonly authority?: string | undefined;
  readonly secretKey: string;
}

/** The work on the server. It judges no request and remembers nothing between two calls. */
export class Databases implements Backend {
  readonly #maintenance: Maintenance;
  readonly #url: URL;
  readonly #authority: string | undefined;
  readonly #secretKey: string;

  constructor(options: DatabasesOptions) {
    this.#maintenance = options.maintenance;
    this.#url = options.url;
    this.#authority = options.authority;
    this.#secretKey = options.secretKey;
  }

  /** Makes the database, and brings it and the logins of its bindings to its plan and parameters. */
  async ensure(instance: Instance, bindings: readonly Binding[]): Promise<void> {
    const { database, owner } = namesOf(instance.id);
    const server = this.#maintenance;
    if (!(await server.exists("pg_roles", owner))) await server.run(`create role ${quote(owner)} nologin`);
    // Nobody gets in before its rights are right; a limit of 0 does not count for superusers.
    if (!(await server.exists("pg_database", database)))
      await server.run(`create database ${quote(database)} template template0 connection limit 0`);
    await this.refresh(instance, bindings);
  }

  /** The same for a database that must be there: one that was lost is never made again, empty. */
  async refresh(instance: Instance, bindings: readonly Binding[]): Promise<void> {
    const { database, owner } = namesOf(instance.id);
    const name = quote(database);
    const server = this.#maintenance;
    await server.seize(database);
    await server.run(
      `revoke all on database ${name} from public`,
      `grant connect, create, temporary on database ${name} to ${quote(owner)}`,
      `alter database ${name} reset all`,
      ...databaseSettings(planOf(instance), instance.parameters).map(
        ([setting, value]) => `alter database ${name} set ${quote(setting)} to ${escapeLiteral(value)}`,
      ),
    );
    await server.runIn(database, givePublicSchemaTo(owner));
    const limit = connectionLimit(planOf(instance), instance.parameters);
    for (const { id } of bindings)
      if (await server.exists("pg_roles", userOf(id)))
        await server.run(
          `alter role ${quote(userOf(id))} connection limit ${limit}`,
          // It belongs to the database, which may be another one since a restore.
          actAsOwner(userOf(id), database, owner),
        );
    await this.limitSessions(instance);
  }

  /** Lets as many sessions into the database as its plan says, and `extra` ones; does nothing when it is not there. */
  async limitSessions(instance: Instance, extra = 0): Promise<void> {
    const { database } = namesOf(instance.id);
    if (!(await this.#maintenance.exists("pg_database", database))) return;
    const limit = connectionLimit(planOf(instance), instance.parameters) + extra;
    await this.#maintenance.run(`alter database ${quote(database)} connection limit ${limit}`);
  }

  /** Drops the database, whoever is connected, and its roles. */
  async drop(instance: Instance, bindings: readonly Binding[]): Promise<void> {
    const { database, owner } = namesOf(instance.id);
    await this.#maintenance.seize(database);
    await this.#maintenance.run(`drop database if exists ${quote(database)} with (force)`);
    for (const binding of bindings) await dropRole(this.#maintenance, userOf(binding.id));
    await dropRole(this.#maintenance, owner);
  }

  /** Makes the binding's login role; repeating it sets the same password again and undoes what the login set for itself. */
  async bind(binding: Binding, instance: Instance): Promise<Readonly<Record<string, unknown>>> {
    const { database, owner } = namesOf(binding.instanceId);
    const credentials = this.#credentials(binding);
    const user = quote(credentials.username);
    const server = this.#maintenance;
    if (!(await server.exists("pg_roles", credentials.username)))
      await server.run(`create role ${user} nologin in role ${quote(owner)}`);
    const limit = connectionLimit(planOf(instance), instance.parameters);
    const verifier = scramVerifier(credentials.password, randomBytes(16));
    await server.run(
      `alter role ${user} reset all`,
      `alter role ${user} in database ${quote(database)} reset all`,
      actAsOwner(credentials.username, database, owner),
      `alter role ${user} login connection limit ${limit} password ${escapeLiteral(verifier)}`,
    );
    return { ...credentials };
  }

  /** Ends the role's sessions and drops it; what it made under its own name goes to the owner. */
  async unbind(binding: Binding): Promise<void> {
    const { database, owner } = namesOf(binding.instanceId);
    const name = userOf(binding.id);
    const server = this.#maintenance;
    if (!(await server.exists("pg_roles", name))) return;
    await server.run(`alter role ${quote(name)} nologin`);
    await server.endSessions({ login: name });
    if (await server.exists("pg_database", database))
      await server.runIn(
        database,
        `reassign owned by ${quote(name)} to ${quote(owner)}`,
        `drop owned by ${quote(name)}`,
      );
    await dropRole(server, name);
  }

  /** The same answer for the same binding: the password follows from the key and the stored salt, and is not stored. */
  credentials(binding: Binding): Promise<Readonly<Record<string, unknown>>> {
    return Promise.resolve({ ...this.#credentials(binding) });
  }

  #credentials(binding: Binding): Credentials {
    const name = namesOf(binding.instanceId).database;
    const username = userOf(binding.id);
    const password = passwordOf(binding, this.#secretKey);
    // An IPv6 address stands in brackets in a URL only.
    const host = this.#url.hostname.replace(/^\[(.*)\]$/, "$1");
    const port = Number(this.#url.port);
    const uri = `postgres://${username}:${password}@${hostInUrl(host)}:${port}/${name}`;
    const authority = this.#authority === undefined ? {} : { cacrt: this.#authority };
    return { ...authority, host, hosts: [host], name, password, port, uri, username };
  }
}

function planOf(instance: Instance): DatabasePlan {
  const plan = plans.find(({ id }) => id === instance.planId);
  if (plan === undefined) throw new Error(`plan ${instance.planId} of instance ${instance.id} is unknown`);
  return plan;
}

/** As long as it is the database owner's, which is the broker now; the tenant may have dropped it or made its own. */
function givePublicSchemaTo(owner: string): string {
  return `do $$ begin
    if exists (select from pg_namespace where nspname = 'public' and pg_get_userbyid(nspowner) in ('pg_database_owner', current_user))
    then alter schema public owner to ${quote(owner)}; end if; end $$`;
}

const quote = (name: string): string => escapeIdentifier(name);

function actAsOwner(user: string, database: string, owner: string): string {
  return `alter role ${quote(user)} in database ${quote(database)} set role to ${escapeLiteral(owner)}`;
}
