/** SQL by MariaDB's own command-line client, on the server's socket. Statements go in by standard input: the command line is public. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { DebianPrograms } from "@klutch/engines";
import type { Place } from "../kind.ts";
import { folders, socketPath } from "./settings.ts";
import { adminUser } from "./statements.ts";

/** What the server answers when every session is taken, also the one that it keeps for us. */
const tooManyConnections = /^ERROR (?:1040|1203) /m;
const triesMs = 500;
const tries = 40;

/** How to reach a server as the broker's account. */
export interface Access {
  readonly programs: DebianPrograms;
  readonly place: Place;
}

/** Arguments and surroundings with which MariaDB's clients find the server; `user` is by default the broker's. */
export function clientOptions(
  { programs, place }: Access,
  login: { readonly user: string; readonly password: string } = {
    user: adminUser,
    password: place.adminPassword,
  },
): {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const charsets = join(programs.root, "usr", "share", "mysql", "charsets");
  return {
    args: [
      "--no-defaults",
      `--socket=${socketPath}`,
      `--user=${login.user}`,
      `--character-sets-dir=${charsets}`,
      "--default-character-set=utf8mb4",
      "--skip-ssl",
    ],
    // The socket's path is relative to it.
    cwd: join(place.data, folders.database),
    env: { ...programs.env, PATH: "/usr/bin:/bin", MYSQL_PWD: login.password },
  };
}

/** Runs the statements in one session, and gives back the rows of all. Throws with the server's words. */
export async function runSql(
  access: Access,
  statements: readonly string[],
): Promise<readonly (readonly string[])[]> {
  for (let attempt = 1; ; attempt++) {
    const { code, output, errors } = await client(access, statements);
    if (code === 0) return rowsOf(output);
    if (!tooManyConnections.test(errors) || attempt === tries)
      // Before it stands the statement, which may hold what nobody else may read.
      throw new Error(
        `MariaDB refused: ${/^ERROR .*$/m.exec(errors)?.[0] ?? `its client ended with code ${code}`}`,
      );
    // Those of tenants who have not logged in yet end after five seconds.
    await sleep(triesMs);
  }
}

async function client(
  access: Access,
  statements: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string; readonly errors: string }> {
  const { args, cwd, env } = clientOptions(access);
  const child = spawn(access.programs.path("mariadb"), [...args, "--batch", "--skip-column-names"], {
    cwd,
    env,
  });
  const { promise: closed, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject);
  child.once("close", resolve);
  // A client that ended does not read; its exit code says why.
  child.stdin.on("error", () => undefined);
  child.stdin.end(statements.map((statement) => `${statement};\n`).join(""));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, output, errors };
}

function rowsOf(output: string): readonly (readonly string[])[] {
  return output
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split("\t"));
}
