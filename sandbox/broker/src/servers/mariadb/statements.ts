/** SQL of the broker's account. Pure; every name and value is escaped here. */
import { createHash } from "node:crypto";
import type { Login, ServerSpec } from "../kind.ts";
import { furtherDatabases, reservedDatabases, seesPerformance } from "./parameters.ts";

/** The broker's own account, on the socket only. */
export const adminUser = "klutch";
/** Logins of bindings, and nobody else. */
export const loginName: RegExp = /^u[0-9a-f]{32}$/;

const ownDatabases = reservedDatabases.map((each) => literal(each)).join(", ");
const reading = ["SELECT", "SHOW VIEW", "EXECUTE", "LOCK TABLES"];
const makingRoom = ["DELETE", "DROP", "DELETE HISTORY"];
const writing = [
  "INSERT",
  "UPDATE",
  "CREATE",
  "ALTER",
  "INDEX",
  "REFERENCES",
  "CREATE TEMPORARY TABLES",
  "CREATE VIEW",
  "CREATE ROUTINE",
  "ALTER ROUTINE",
  "TRIGGER",
];

/** A name of a database or table. */
export function name(text: string): string {
  return `\`${text.replaceAll("`", "``")}\``;
}

/** A text, with which nothing can be escaped from. */
export function literal(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** A login, from wherever it comes; the broker's own account is on the socket. */
export function account(username: string): string {
  return `${literal(username)}@'%'`;
}

/** What the server keeps of a password, so that neither it nor its log ever sees one (authentication `mysql_native_password`). */
export function passwordHash(password: string): string {
  const sha1 = (data: string | Buffer): Buffer => createHash("sha1").update(data).digest();
  return `*${sha1(sha1(password)).toString("hex").toUpperCase()}`;
}

/** Run at each start before anybody is accepted, one statement a line: nobody but the broker is in charge. */
export function initStatements(adminPassword: string): string {
  const admin = `'${adminUser}'@'localhost'`;
  const hash = literal(passwordHash(adminPassword));
  return [
    `CREATE USER IF NOT EXISTS ${admin} IDENTIFIED BY PASSWORD ${hash};`,
    `ALTER USER ${admin} IDENTIFIED BY PASSWORD ${hash};`,
    `GRANT ALL PRIVILEGES ON *.* TO ${admin} WITH GRANT OPTION;`,
    "",
  ].join("\n");
}

/** Every database that the instance has. */
export function databasesOf(database: string, spec: ServerSpec): readonly string[] {
  return [database, ...furtherDatabases(spec.parameters)];
}

/** Makes databases that are not there; none is ever dropped. */
export function makeDatabases(database: string, spec: ServerSpec): readonly string[] {
  return databasesOf(database, spec).map((each) => `CREATE DATABASE IF NOT EXISTS ${name(each)}`);
}

/** Makes the login, closed until its rights are right. Repeating it sets the same again. */
export function makeLogin(
  login: Login,
  { database, spec, isFull }: { database: string; spec: ServerSpec; isFull: boolean },
): readonly string[] {
  const user = account(login.username);
  return [
    `CREATE USER IF NOT EXISTS ${user} ACCOUNT LOCK`,
    `ALTER USER ${user} IDENTIFIED BY PASSWORD ${literal(passwordHash(login.password))}`,
    ...giveRights(login.username, { database, spec, isFull }),
    `ALTER USER ${user} ACCOUNT UNLOCK`,
  ];
}

/** Brings a login to the spec. Who has what is needed never loses it for a moment. */
export function giveRights(
  username: string,
  { database, spec, isFull }: { database: string; spec: ServerSpec; isFull: boolean },
): readonly string[] {
  const user = account(username);
  const rights = [...reading, ...makingRoom, ...(isFull ? [] : writing)].join(", ");
  const transport = spec.tlsOnly ? "SSL" : "NONE";
  return [
    ...(isFull ? [`REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${user}`] : []),
    `ALTER USER ${user} REQUIRE ${transport} WITH MAX_USER_CONNECTIONS ${spec.connections}`,
    ...databasesOf(database, spec).map(
      (each) => `GRANT ${rights} ON ${name(grantPattern(each))}.* TO ${user}`,
    ),
    ...(seesPerformance(spec.parameters) ? [`GRANT SELECT ON performance_schema.* TO ${user}`] : []),
  ];
}

/** The name of a database in a grant is a pattern. */
export function grantPattern(database: string): string {
  return database.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

/** Ends a login's sessions and keeps it out. */
export function closeLogin(username: string): readonly string[] {
  return [`ALTER USER ${account(username)} ACCOUNT LOCK`, `KILL HARD CONNECTION USER ${account(username)}`];
}

/** How many views, routines and triggers act in the name of a login. */
export function countDefined(username: string): string {
  const definer = literal(`${username}@%`);
  return ["VIEWS", "ROUTINES", "TRIGGERS"]
    .map((table) => `(SELECT COUNT(*) FROM information_schema.${table} WHERE DEFINER = ${definer})`)
    .join(" + ");
}

/** One line for each account that something in the databases of tenants acts as. There are no events: their scheduler is off. */
export const listDefiners: string = [
  ["VIEWS", "TABLE_SCHEMA"],
  ["ROUTINES", "ROUTINE_SCHEMA"],
  ["TRIGGERS", "TRIGGER_SCHEMA"],
]
  .map(
    ([table, schema]) =>
      `SELECT DEFINER FROM information_schema.${table} WHERE ${schema} NOT IN (${ownDatabases})`,
  )
  .join(" UNION ");

/** One line for each login. */
export const listLogins: string = `SELECT User FROM mysql.global_priv WHERE Host = '%' AND User REGEXP ${literal(loginName.source)}`;
