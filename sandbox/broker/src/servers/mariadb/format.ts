/**
 * Dumps of a MariaDB server: a line that names its databases, and then SQL. The line is the broker's; the SQL holds what the tenant made,
 * so it is run by an account that has rights on these databases only, in a client that reaches no files.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { runFrom, runInto } from "@klutch/data-servers";
import type { DebianPrograms } from "@klutch/engines";
import type { Place, ServerSpec } from "../kind.ts";
import type { DumpFormat } from "../server-dumps.ts";
import { clientOptions } from "./client.ts";
import type { MariadbSession } from "./mariadb.ts";
import { isTenantsDatabase } from "./parameters.ts";
import {
  account,
  giveRights,
  grantPattern,
  listDefiners,
  literal,
  loginName,
  name,
  passwordHash,
} from "./statements.ts";

const restorer = "klutch-restore";
const longestHeader = 64 * 1024;

/** The format, with programs that were found or fetched. */
export function mariadbFormat(programs: DebianPrograms): DumpFormat<MariadbSession> {
  return {
    backupType: "mariadb_dump",
    write: (place, session, to, signal) => write({ place, session, programs }, to, signal),
    read: (from, signal) => ({
      fill: (place, spec, session) => fill({ place, spec, session, programs }, from(), signal),
    }),
  };
}

async function write(
  { place, session, programs }: { place: Place; session: MariadbSession; programs: DebianPrograms },
  to: Writable,
  signal: AbortSignal,
): Promise<void> {
  const databases = (await session.run("SHOW DATABASES"))
    .map(([database = ""]) => database)
    .filter(isTenantsDatabase);
  to.write(`${JSON.stringify({ databases })}\n`);
  const { args, cwd, env } = clientOptions({ programs, place });
  const what = ["--single-transaction", "--skip-lock-tables", "--routines", "--triggers", "--hex-blob"];
  const how = ["--no-tablespaces", "--skip-comments", "--max-allowed-packet=64M", "--databases", "--"];
  const program = programs.path("mariadb-dump");
  await runInto({ program, args: [...args, ...what, ...how, ...databases], cwd, env, signal }, to);
}

interface Target {
  readonly place: Place;
  readonly spec: ServerSpec;
  readonly session: MariadbSession;
  readonly programs: DebianPrograms;
}

async function fill(target: Target, from: Readable, signal: AbortSignal): Promise<void> {
  const { place, session, programs } = target;
  const { databases, rest } = await readHeader(from);
  const password = randomBytes(24).toString("base64url");
  const user = `${literal(restorer)}@'localhost'`;
  await session.run(
    `CREATE OR REPLACE USER ${user} IDENTIFIED BY PASSWORD ${literal(passwordHash(password))}`,
    // Only to make what acts in the name of logins.
    `GRANT SET USER ON *.* TO ${user}`,
    ...databases.flatMap((each) => [
      `CREATE DATABASE IF NOT EXISTS ${name(each)}`,
      `GRANT ALL PRIVILEGES ON ${name(grantPattern(each))}.* TO ${user}`,
    ]),
  );
  const { args, cwd, env } = clientOptions({ programs, place }, { user: restorer, password });
  const program = programs.path("mariadb");
  await runFrom({ program, args: [...args, "--batch", "--sandbox"], cwd, env, signal }, rest);
  await session.run(`DROP USER ${user}`);
  await admitDefiners(target);
}

/** Whoever something acts as is a login, and without a binding a closed one. */
async function admitDefiners({ place, spec, session }: Target): Promise<void> {
  const definers = (await session.run(listDefiners)).map(([definer = ""]) => definer);
  for (const definer of definers) {
    const username = /^(.*)@%$/.exec(definer)?.[1] ?? "";
    if (!loginName.test(username))
      throw new Error(
        `the backup holds something that acts as ${JSON.stringify(definer)}, which is no login`,
      );
    await session.run(
      `CREATE USER IF NOT EXISTS ${account(username)} IDENTIFIED BY PASSWORD ${literal(noPassword())} ACCOUNT LOCK`,
      ...giveRights(username, { database: place.database, spec, isFull: false }),
    );
  }
}

/** A hash that is nobody's. */
function noPassword(): string {
  return `*${createHash("sha1").update(randomBytes(20)).digest("hex").toUpperCase()}`;
}

/** The first line, and a stream of what follows it. Throws when it is none of ours. */
async function readHeader(
  from: Readable,
): Promise<{ readonly databases: readonly string[]; readonly rest: Readable }> {
  let head = Buffer.alloc(0);
  for await (const chunk of from.iterator({ destroyOnReturn: false })) {
    head = Buffer.concat([head, Buffer.from(chunk as Uint8Array)]);
    const end = head.indexOf("\n");
    if (end >= 0) {
      from.unshift(head.subarray(end + 1));
      return { databases: databasesIn(head.toString("utf8", 0, end)), rest: from };
    }
    if (head.length > longestHeader) break;
  }
  throw new Error("the backup does not begin with the names of its databases");
}

function databasesIn(line: string): readonly string[] {
  const value: unknown = JSON.parse(line);
  const databases: unknown = new Map<string, unknown>(Object.entries(value ?? {})).get("databases");
  const names: readonly unknown[] = Array.isArray(databases) ? databases : [undefined];
  return names.map((each) => {
    if (typeof each === "string" && isTenantsDatabase(each)) return each;
    throw new Error("the backup does not begin with the names of its databases");
  });
}
