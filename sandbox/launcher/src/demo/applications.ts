/** Applications that use a data service and know only the Secret of their binding. */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DebianPrograms, inheritedEnvironment, run } from "@klutch/engines";
import pg from "pg";
import { isListening } from "../machine.ts";

/** Values by key of the Secret. */
export type Credentials = Readonly<Record<string, string>>;

/** Commands of a server and how to send them. */
export interface Application {
  /** Sends a command and returns the answer, or the first value of it. Throws with the server's words. */
  readonly send: (credentials: Credentials, command: readonly string[]) => Promise<string>;
  readonly write: (words: string) => readonly string[];
  readonly read: readonly string[];
  /** Asks who is logged in; the first word before `@` says it. */
  readonly whoami: readonly string[];
  /** Name of the server, and where its version is. */
  readonly server: { readonly name: string; readonly command: readonly string[]; readonly version: RegExp };
  readonly destroy: readonly string[];
  /** Says that the data are destroyed. */
  readonly destroyed: string;
  /** Returns true if the broker kept no part of the instance; checked without its credentials where possible. */
  readonly isGone: (credentials: Credentials) => Promise<boolean>;
}

const sql = {
  write: (words: string) => [`create table if not exists greetings as select '${words}' as words`],
  read: ["select words from greetings"],
  destroy: ["drop table greetings"],
  destroyed: "the table is dropped",
};

/**
 * An application with a PostgreSQL database. `adminUrl`: of a superuser of the server that holds the databases, to see that they are really
 * gone. Without it the server must refuse the login.
 */
export function postgresqlApplication(adminUrl: string | undefined): Application {
  const send: Application["send"] = (credentials, [statement = ""]) => {
    const { host, port, name: database, username: user, password } = credentials;
    return query({ host, port: Number(port), database, user, password }, statement);
  };
  const left =
    "select count(*) from (select datname from pg_database union all select rolname from pg_roles) as x";
  return {
    ...sql,
    send,
    whoami: ["select session_user"],
    server: { name: "PostgreSQL", command: ["show server_version"], version: /^(.*)$/ },
    async isGone(credentials) {
      const { name, username } = credentials;
      if (adminUrl === undefined) return isRefused(send(credentials, sql.read));
      const statement = `${left} where datname in ($1, $2)`;
      const found = await query({ connectionString: adminUrl }, statement, [name, username]);
      return found === "0";
    },
  };
}

/** PostgreSQL's codes of a wrong password or an unknown user, of an unknown database, and of one that is closed to the user. */
const refusals = ["28P01", "28000", "3D000", "42501"];

/** Returns false for an answer, and true if the server refused the login. Throws other errors. */
export async function isRefused(answer: Promise<unknown>): Promise<boolean> {
  try {
    await answer;
    return false;
  } catch (error) {
    if (error instanceof pg.DatabaseError && refusals.includes(error.code ?? "")) return true;
    throw error;
  }
}

/** Returns the first value of the first row. */
async function query(config: pg.ClientConfig, statement: string, values: readonly unknown[] = []) {
  const client = new pg.Client(config);
  await client.connect();
  try {
    const { rows } = await client.query<Readonly<Record<string, unknown>>>(statement, [...values]);
    const [value = ""] = Object.values(rows[0] ?? {});
    return String(value);
  } finally {
    await client.end();
  }
}

/** An application with a MariaDB server of its own, reached by TLS with MariaDB's own client. */
export function mariadbApplication(programs: DebianPrograms): Application {
  return {
    ...sql,
    send: (credentials, [statement = ""]) => {
      const { host = "", port = "", username = "", password = "", name = "" } = credentials;
      const server = ["--no-defaults", "--protocol=tcp", `--host=${host}`, `--port=${port}`];
      const tls = ["--ssl-verify-server-cert", "--ssl-ca"];
      const how = [`--user=${username}`, "--batch", "--skip-column-names", `--execute=${statement}`, name];
      return runClient(programs, "mariadb", credentials, { MYSQL_PWD: password }, [...server, ...tls], how);
    },
    whoami: ["select session_user()"],
    server: { name: "MariaDB", command: ["select version()"], version: /^(.*)$/ },
    isGone: async ({ host, port }) => !(await isListening(Number(port), host)),
  };
}

/** An application with a key-value store of its own, reached by TLS with the store's own client. */
export function keyvalueApplication(programs: DebianPrograms): Application {
  return {
    send: (credentials, command) => {
      const { host = "", "valkey.port": port = "", "valkey.username": username = "" } = credentials;
      const env = { REDISCLI_AUTH: credentials["valkey.password"] ?? "" };
      // -e: an answer that is an error is one of the client's.
      const login = ["-e", "-h", host, "-p", port, "--user", username, "--tls", "--cacert"];
      return runClient(programs, "redis-cli", credentials, env, login, command);
    },
    write: (words) => ["SET", "greetings", words],
    read: ["GET", "greetings"],
    whoami: ["ACL", "WHOAMI"],
    server: { name: "Redis", command: ["INFO", "server"], version: /^redis_version:(\S+)/m },
    destroy: ["FLUSHALL"],
    destroyed: "all keys are flushed",
    isGone: async ({ host, "valkey.port": port }) => !(await isListening(Number(port), host)),
  };
}

/**
 * Runs a client as a person would, and returns its output. The arguments are public, so the password is in `env`. The path of the authority's certificate
 * comes between them.
 */
async function runClient(
  programs: DebianPrograms,
  program: string,
  { cacrt = "" }: Credentials,
  env: Readonly<Record<string, string>>,
  before: readonly string[],
  after: readonly string[],
): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "klutch-client-"));
  const authority = join(folder.path, "ca.crt");
  await writeFile(authority, cacrt);
  const whole = { ...inheritedEnvironment, ...programs.env, ...env };
  const { stdout } = await run(programs.path(program), [...before, authority, ...after], { env: whole });
  return stdout.trim();
}
