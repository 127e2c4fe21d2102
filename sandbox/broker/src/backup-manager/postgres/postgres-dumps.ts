/** Dumps and restores databases of the broker's PostgreSQL server with `pg_dump` and `pg_restore`. */
import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { escapeIdentifier } from "pg";
import {
  ChildError,
  type ChildOptions,
  postgresEnvironment,
  readLines,
  runFrom,
  runInto,
} from "@klutch/data-servers";
import type { Databases } from "../../databases.ts";
import type { Maintenance } from "../../maintenance.ts";
import { namesOf, userOf } from "../../names.ts";
import { dropRole } from "../../roles.ts";
import type { Binding, Instance } from "../../store.ts";
import type { DumpSource, Dumps, RestoreOptions } from "../dumps.ts";
import { dismissGuest, inviteGuest } from "./guest.ts";
import { choosePrograms, type DumpPrograms, findPrograms } from "./programs.ts";
import { dropLeftovers, exchange, isDone, makeStaging, type RestoreNames } from "./staging.ts";

/** Options of `PostgresDumps`. */
export interface PostgresDumpsOptions {
  readonly serviceId: string;
  readonly maintenance: Maintenance;
  readonly databases: Databases;
  readonly bindingsOf: (instanceId: string) => Promise<readonly Binding[]>;
  /** Of the server. */
  readonly url: URL;
  /** Where `pg_dump` and `pg_restore` are looked for. */
  readonly folders: readonly string[];
  /** Where their libraries are. Default: where the system looks for them. */
  readonly libraries?: string | undefined;
  /** For lists of what is restored; nobody else's. */
  readonly workFolder: string;
  /** Told of grants that could not be given again. */
  readonly onSkipped?: ((instanceId: string, words: string) => void) | undefined;
  /** Told of each step of a restore before the next one. Default: nothing. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

/** Where a session goes and as whom. */
interface Visit {
  readonly programs: DumpPrograms;
  readonly program: keyof typeof argumentsOf;
  readonly database: string;
  readonly guest: string;
  readonly password: string;
  readonly signal: AbortSignal;
}

const argumentsOf = {
  pg_dump: [
    "--format=custom",
    "--compress=3",
    // A tenant's lock must not keep a backup waiting for ever.
    "--lock-wait-timeout=60000",
    "--no-tablespaces",
    "--no-subscriptions",
    "--no-security-labels",
  ],
  pg_restore: ["--no-owner", "--no-tablespaces", "--no-subscriptions", "--no-security-labels"],
} as const;

/** Sessions that a dump needs although the tenant uses all of its plan. */
const extraSessions = 2;

/** The work on the server, one instance at a time. */
export class PostgresDumps implements Dumps {
  readonly serviceId: string;
  readonly backupType = "postgresql_dump";
  readonly #options: PostgresDumpsOptions;

  constructor(options: PostgresDumpsOptions) {
    this.serviceId = options.serviceId;
    this.#options = options;
  }

  async obstacle(): Promise<string | undefined> {
    try {
      const chosen = await this.#programs();
      return "missing" in chosen ? chosen.missing : undefined;
    } catch (error) {
      return `PostgreSQL cannot be asked for its version: ${String(error)}`;
    }
  }

  async cleanUp(): Promise<void> {
    await rm(this.#options.workFolder, { recursive: true, force: true });
    await dropLeftovers(this.#options.maintenance);
  }

  async dump(instance: Instance, to: Writable, signal: AbortSignal): Promise<void> {
    const { maintenance, databases } = this.#options;
    const { database, owner, guest } = restoreNamesOf(instance.id);
    try {
      const programs = await this.#requirePrograms();
      const logins = await this.#loginsOf(instance);
      const password = await inviteGuest(maintenance, guest, {
        memberOf: [owner, ...logins],
        seesAllRows: true,
      });
      await databases.limitSessions(instance, extraSessions);
      const visit = { programs, database, guest, password, signal };
      await runInto(this.#child({ ...visit, program: "pg_dump" }), to);
    } catch (error) {
      to.destroy(error instanceof Error ? error : undefined);
      throw error;
    } finally {
      await databases.limitSessions(instance);
      await dismissGuest(maintenance, guest);
    }
  }

  async restore(instance: Instance, from: DumpSource, options: RestoreOptions): Promise<void> {
    const { maintenance, databases, bindingsOf, onStep } = this.#options;
    const names = restoreNamesOf(instance.id);
    if (!(await isDone(maintenance, names, options.token))) {
      try {
        await this.#fillStaging(names, instance, from, options.signal);
        options.signal.throwIfAborted();
        await onStep?.("restore staged");
        await exchange(maintenance, names, options.token);
        await onStep?.("restore swapped");
      } catch (error) {
        await databases.limitSessions(instance);
        throw error;
      } finally {
        await this.#drop(names.staging);
        await dismissGuest(maintenance, names.guest);
      }
    }
    // Also lets sessions in again.
    await databases.refresh(instance, await bindingsOf(instance.id));
    await this.#drop(names.retired);
  }

  async #fillStaging(
    names: RestoreNames,
    instance: Instance,
    from: DumpSource,
    signal: AbortSignal,
  ): Promise<void> {
    const { maintenance } = this.#options;
    const { staging, owner, guest } = names;
    const programs = await this.#requirePrograms();
    const password = await inviteGuest(maintenance, guest, { memberOf: [owner], seesAllRows: false });
    await makeStaging(maintenance, names);
    const visit: Visit = { programs, program: "pg_restore", database: staging, guest, password, signal };
    const target = [`--role=${owner}`, `--dbname=${staging}`];
    const whole = ["--single-transaction", "--exit-on-error", "--no-privileges"];
    await runFrom(this.#child(visit, ...target, ...whole), from.open());
    await this.#restoreGrants(visit, target, instance, from);
    // What code of the tenant's made under the guest's own name.
    await maintenance.runIn(
      staging,
      `reassign owned by ${escapeIdentifier(guest)} to ${escapeIdentifier(owner)}`,
    );
    await dropRole(maintenance, guest);
  }

  /**
   * Each for itself: a login that is gone cannot get its rights back, and that is no reason to lose the data. All logins of an instance
   * act as its owner, so what is left out opens nothing to anybody else.
   */
  async #restoreGrants(
    visit: Visit,
    target: readonly string[],
    instance: Instance,
    from: DumpSource,
  ): Promise<void> {
    const ids: string[] = [];
    const list = this.#child(visit, "--list");
    await readLines(list, from.open(), (line) => {
      const id = /^(\d+); \d+ \d+ (?:DEFAULT )?ACL /.exec(line)?.[1];
      if (id !== undefined) ids.push(`${id};`);
    });
    if (ids.length === 0) return;
    const file = join(this.#options.workFolder, randomUUID());
    await mkdir(this.#options.workFolder, { recursive: true, mode: 0o700 });
    await writeFile(file, `${ids.join("\n")}\n`);
    try {
      await runFrom(this.#child(visit, ...target, `--use-list=${file}`), from.open());
    } catch (error) {
      if (!(error instanceof ChildError)) throw error;
      this.#options.onSkipped?.(instance.id, error.message);
    } finally {
      await rm(file, { force: true });
    }
  }

  #child(visit: Visit, ...args: readonly string[]): ChildOptions {
    const { url, libraries } = this.#options;
    return {
      program: join(visit.programs.folder, visit.program),
      args: [...argumentsOf[visit.program], "--no-password", ...args],
      env: {
        ...postgresEnvironment({ url, libraries, user: visit.guest, password: visit.password }),
        PGDATABASE: visit.database,
        PGAPPNAME: "klutch-backup",
      },
      signal: visit.signal,
    };
  }

  async #programs(): Promise<DumpPrograms | { readonly missing: string }> {
    const { rows } = await this.#options.maintenance.pool.query<{ number: string }>(
      "select current_setting('server_version_num') as number",
    );
    const major = Math.floor(Number(rows[0]?.number) / 10_000);
    return choosePrograms(await findPrograms(this.#options.folders, this.#options.libraries), major);
  }

  async #requirePrograms(): Promise<DumpPrograms> {
    const chosen = await this.#programs();
    if ("missing" in chosen) throw new Error(chosen.missing);
    return chosen;
  }

  /** Some things may belong to a login itself. */
  async #loginsOf(instance: Instance): Promise<readonly string[]> {
    const bindings = await this.#options.bindingsOf(instance.id);
    const { rows } = await this.#options.maintenance.pool.query<{ name: string }>(
      "select rolname as name from pg_roles where rolname = any ($1)",
      [bindings.map(({ id }) => userOf(id))],
    );
    return rows.map(({ name }) => name);
  }

  async #drop(database: string): Promise<void> {
    await this.#options.maintenance.run(`drop database if exists ${escapeIdentifier(database)} with (force)`);
  }
}

function restoreNamesOf(instanceId: string): RestoreNames {
  const { database, owner } = namesOf(instanceId);
  const hash = database.slice(1);
  return { database, owner, staging: `r${hash}`, retired: `d${hash}`, guest: `b${hash}` };
}
