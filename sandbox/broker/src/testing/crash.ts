/** Brokers that die in the middle of their work, and what may be left of it then. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BackupManagerClient } from "@klutch/backup-manager";
import { createOsbClient, type OsbClient } from "@klutch/osb";
import type { BrokerConfig } from "../config.ts";
import { clientOf } from "./backups.ts";
import { auth, query } from "./fixture.ts";

/** A broker in a process of its own. */
export interface BrokerProcess extends AsyncDisposable {
  readonly manager: BackupManagerClient;
  readonly osb: OsbClient;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
  /** Sends SIGKILL. */
  readonly kill: () => Promise<void>;
}

/** `crashAt`: the step at which it ends; empty: it does not. */
export async function startProcess(config: BrokerConfig, crashAt = ""): Promise<BrokerProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "crashing", "main.ts"), crashAt], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: "/usr/bin:/bin",
      BROKER_POSTGRES_URL: config.postgresUrl,
      BROKER_USERNAME: config.username,
      BROKER_PASSWORD: config.password,
      BROKER_SECRET_KEY: config.secretKey,
      BROKER_BACKUP_FOLDER: config.backups?.folder,
      BROKER_DATA_FOLDER: config.dataFolder,
      BROKER_SERVICES: config.services?.join(","),
      BROKER_POSTGRES_PROGRAMS: config.postgresPrograms,
      BROKER_POSTGRES_LIBRARIES: config.postgresLibraries,
    },
  });
  const ended = once(child, "exit");
  const lines = createInterface(child.stdout);
  const first = Promise.race([once(lines, "line"), ended.then(() => [""])]);
  const [port] = await first;
  if (port === "") throw new Error(`the broker ended before it served (it was to end at "${crashAt}")`);
  const url = `http://127.0.0.1:${String(port)}`;
  const manager = clientOf(`${url}/backup-manager`);
  const osb = createOsbClient({ url, auth });
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  return {
    manager,
    osb,
    ended,
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      await manager[Symbol.asyncDispose]();
      await osb[Symbol.asyncDispose]();
    },
  };
}

/** Lists the files of backups, and leftovers of dumps and restores in the server. */
export async function leftIn(folder: string, adminUrl: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  const rows = await query(
    adminUrl,
    `select datname as name from pg_database where datname ~ '^i[0-9a-f]{32}_'
     union all select rolname from pg_roles where rolname ~ '^b[0-9a-f]{32}$'`,
  );
  const server = Array.isArray(rows) ? rows.map((row: { readonly name: string }) => row.name) : [];
  return [...names.toSorted(), ...server];
}
