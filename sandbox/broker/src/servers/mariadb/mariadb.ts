/** MariaDB, a server for each instance. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { hostInUrl, makeServerFolder, writeForServer } from "@klutch/data-servers";
import { type DebianPrograms, unprivileged } from "@klutch/engines";
import {
  type Launch,
  type Login,
  type Place,
  type ServerKind,
  type ServerSpec,
  type Session,
} from "../kind.ts";
import { connectTo } from "../socket.ts";
import { runSql } from "./client.ts";
import { seesPerformance } from "./parameters.ts";
import { baseSettings, folders, initFile, serverSettings, socketName } from "./settings.ts";
import {
  account,
  closeLogin,
  countDefined,
  giveRights,
  initStatements,
  listLogins,
  makeDatabases,
  makeLogin,
} from "./statements.ts";

/** The system tables in the order in which the server's own installer makes them. */
const systemTables = [
  "mysql_system_tables.sql",
  "mysql_performance_tables.sql",
  "mysql_system_tables_data.sql",
  "maria_add_gis_sp_bootstrap.sql",
  "mysql_sys_schema.sql",
];

/** What the performance schema takes beside a plan's memory. */
const performanceSchemaMiB = 384;

/** A way into one server as the broker's account. */
export interface MariadbSession extends Session {
  run(...statements: readonly string[]): Promise<readonly (readonly string[])[]>;
}

/** The kind, with programs that were found or fetched. */
export function mariadbKind(programs: DebianPrograms): ServerKind<MariadbSession> {
  return {
    name: "mariadb",
    program: "MariaDB server",
    initialise: (place) => initialise(place, programs),
    launch: (place, spec) => launch(place, spec, programs),
    open: (place, spec) => open(place, spec, programs),
    credentials,
  };
}

async function initialise(place: Place, programs: DebianPrograms): Promise<void> {
  for (const folder of Object.values(folders)) await makeServerFolder(join(place.data, folder));
  const share = join(programs.root, "usr", "share", "mysql");
  const scripts = await Promise.all(systemTables.map((file) => readFile(join(share, file), "utf8")));
  const input = [
    "create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\nset @current_hostname='localhost';\n",
    ...scripts,
    // Accounts without a password.
    "delete from global_priv where User in ('root', '');\ndelete from proxies_priv;\n",
  ].join("\n");
  const child = spawn(programs.path("mariadbd"), [...baseSettings(place, programs), "--bootstrap"], {
    cwd: place.data,
    env: { ...programs.env, PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "pipe"],
    ...unprivileged,
  });
  const { promise: closed, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject);
  child.once("close", resolve);
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const [said, code] = await Promise.all([text(child.stderr), closed]);
  const fault = said.split("\n").find((line) => line.includes("ERROR"));
  if (code !== 0) throw new Error(`MariaDB could not make its system tables: ${fault ?? `code ${code}`}`);
}

async function launch(place: Place, spec: ServerSpec, programs: DebianPrograms): Promise<Launch> {
  await writeForServer(join(place.home, initFile), initStatements(place.adminPassword));
  return {
    command: programs.path("mariadbd"),
    args: serverSettings(place, spec, programs),
    env: { ...programs.env, MALLOC_ARENA_MAX: "2" },
    memoryMiB: spec.memoryMiB + (seesPerformance(spec.parameters) ? performanceSchemaMiB : 0),
    ready: () => greets(place),
  };
}

/** A server that accepts logins greets; it runs its init file before. */
async function greets(place: Place): Promise<boolean> {
  const socket = await connectTo(place, socketName);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // Four bytes of length and number, then the version of the protocol; 255 would be an error.
  socket.once("data", (greeting: Buffer) => resolve(greeting[4] === 10));
  socket.once("close", () => resolve(false));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

async function open(place: Place, spec: ServerSpec, programs: DebianPrograms): Promise<MariadbSession> {
  const run = (...statements: readonly string[]): ReturnType<typeof runSql> =>
    runSql({ programs, place }, statements);
  const { database } = place;
  let isFull = false;
  const logins = async (): Promise<readonly string[]> =>
    (await run(listLogins)).map(([username = ""]) => username);
  const align = async (): Promise<void> => {
    const names = await logins();
    await run(...names.flatMap((username) => giveRights(username, { database, spec, isFull })));
  };
  await run(...makeDatabases(database, spec));
  await align();
  return {
    run,
    async ensureLogin(login) {
      await run(...makeLogin(login, { database, spec, isFull }));
    },
    async dropLogin(username) {
      if (!(await logins()).includes(username)) return;
      await run(...closeLogin(username));
      const [[count] = []] = await run(`SELECT ${countDefined(username)}`);
      // What acts in its name needs it, and its rights; closed, it lets nobody in.
      if (count === "0") await run(`DROP USER IF EXISTS ${account(username)}`);
    },
    async setFull(full) {
      isFull = full;
      await align();
      // A session that is in a database keeps the rights with which it entered.
      await run(...(await logins()).map((username) => `KILL HARD CONNECTION USER ${account(username)}`));
    },
    // What is deleted is given back by the server itself.
    makeRoom: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function credentials(
  place: Place,
  { username, password }: Login,
  authority: string,
): Record<string, unknown> {
  const { database: name, port } = place;
  const { host } = place.reach;
  const uri = `mysql://${username}:${password}@${hostInUrl(host)}:${port}/${name}`;
  return { cacrt: authority, host, hosts: [host], name, password, port, uri, username };
}
