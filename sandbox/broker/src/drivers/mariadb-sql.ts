/** SQL that the broker runs in MariaDB servers, and their instance parameters. Pure; every name and value is escaped here. */
import { createHash } from "node:crypto";
import type { postgres } from "@klutch/data-servers";
import { adminUser, type ServerSpec } from "./driver.ts";
import * as check from "./parameters.ts";

/** Matches logins of bindings and no others. */
export const loginName: RegExp = /^u[0-9a-f]{32}$/;

const reading = ["SELECT", "SHOW VIEW", "EXECUTE", "LOCK TABLES", "DELETE", "DROP", "DELETE HISTORY"];
const changing = ["INSERT", "UPDATE", "CREATE", "ALTER", "INDEX", "REFERENCES", "CREATE TEMPORARY TABLES"];
const writing = [...changing, "CREATE VIEW", "CREATE ROUTINE", "ALTER ROUTINE", "TRIGGER"];

/** Databases of the server itself. */
const reservedDatabases: readonly string[] = ["information_schema", "mysql", "performance_schema", "sys"];
const tenantsName = new RegExp(`^(?!(?:${reservedDatabases.join("|")})$)[a-z]\\w{0,63}$`, "i");
const databaseName = check.textLike(
  tenantsName,
  `a name of letters, digits and _ that begins with a letter and is none of ${reservedDatabases.join(", ")}`,
);

/** Accepts the names of databases that may be a tenant's. */
export function isTenantsDatabase(name: string): boolean {
  return tenantsName.test(name);
}

export const mariadbParameters: check.ParameterChecks = {
  binlog_expire_days: check.wholeNumber(1, 99),
  databases: check.listOf(databaseName, 100, "a list of names"),
  grant_performance_schema_permissions: check.trueOrFalse,
};

/** Tells whether logins may read the performance schema, which costs memory. */
export function seesPerformance({
  grant_performance_schema_permissions: isGranted,
}: check.Parameters): boolean {
  return isGranted === true;
}

/** Holds the inputs that decide the rights of logins. */
export interface Rights {
  readonly database: string;
  readonly spec: ServerSpec;
  /** While the disk is full, logins read and delete only. */
  readonly isFull: boolean;
}

/** Quotes the name of a database or table. */
export function name(text: string): string {
  return `\`${text.replaceAll("`", "``")}\``;
}

/** Quotes a text. */
export function literal(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Names a login from any host; the broker's own account is on the socket. */
export function account(username: string): string {
  return `${literal(username)}@'%'`;
}

/** Returns what the server keeps of a password (`mysql_native_password`), so that no log shows the password itself. */
export function passwordHash(password: string): string {
  const sha1 = (data: string | Buffer): Buffer => createHash("sha1").update(data).digest();
  return `*${sha1(sha1(password)).toString("hex").toUpperCase()}`;
}

/** Returns the statements that the server runs at each start, one a line: they make the broker's account. */
export function initStatements(adminPassword: string): string {
  const admin = `'${adminUser}'@'localhost'`;
  const password = `IDENTIFIED BY PASSWORD ${literal(passwordHash(adminPassword))}`;
  const grant = `GRANT ALL PRIVILEGES ON *.* TO ${admin} WITH GRANT OPTION`;
  return `CREATE USER IF NOT EXISTS ${admin} ${password};\nALTER USER ${admin} ${password};\n${grant};\n`;
}

/** Returns the databases of the instance, its first one first. */
export function databasesOf({ database, spec }: Omit<Rights, "isFull">): readonly string[] {
  const { databases } = spec.parameters;
  return [database, ...(Array.isArray(databases) ? databases.map(String) : [])];
}

/** Makes the login, closed until its rights are complete. Repeating it sets the same again. */
export function makeLogin(login: postgres.Login, rights: Rights): readonly string[] {
  const user = account(login.username);
  return [
    ...makeClosedLogin(login.username, rights),
    `ALTER USER ${user} IDENTIFIED BY PASSWORD ${literal(passwordHash(login.password))}`,
    `ALTER USER ${user} ACCOUNT UNLOCK`,
  ];
}

/** Creates a locked login unless it exists, and gives it these rights. */
export function makeClosedLogin(username: string, rights: Rights): readonly string[] {
  return [`CREATE USER IF NOT EXISTS ${account(username)} ACCOUNT LOCK`, ...giveRights(username, rights)];
}

/** Applies plan, parameters and the state of the disk to a login. Rights that stay are never missing for a moment. */
export function giveRights(username: string, rights: Rights): readonly string[] {
  const { spec, isFull } = rights;
  const user = account(username);
  const given = [...reading, ...(isFull ? [] : writing)].join(", ");
  return [
    ...(isFull ? [`REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${user}`] : []),
    `ALTER USER ${user} REQUIRE ${spec.tlsOnly ? "SSL" : "NONE"} WITH MAX_USER_CONNECTIONS ${spec.connectionLimit}`,
    ...databasesOf(rights).map((each) => `GRANT ${given} ON ${name(grantPattern(each))}.* TO ${user}`),
    ...(seesPerformance(spec.parameters) ? [`GRANT SELECT ON performance_schema.* TO ${user}`] : []),
  ];
}

/** Escapes the name of a database in a grant, which is a pattern. */
export function grantPattern(database: string): string {
  return database.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

/** Ends the sessions of a login. */
export function endSessions(username: string): string {
  return `KILL HARD CONNECTION USER ${account(username)}`;
}

const own = reservedDatabases.map(literal).join(", ");

/** Lists accounts in whose name views, routines or triggers act, as `user@host`. */
export const listDefiners: string = ["TABLE", "ROUTINE", "TRIGGER"]
  .map((what) => {
    const from = `information_schema.${what === "TABLE" ? "VIEWS" : `${what}S`}`;
    return `SELECT DEFINER FROM ${from} WHERE ${what}_SCHEMA NOT IN (${own})`;
  })
  .join(" UNION ");

/** Selects bytes of tables, sessions of logins since the server started, and logins that are connected. Accounts of the broker do not count. */
export const activity: string = `SELECT ${[
  "(SELECT COALESCE(SUM(FILE_SIZE), 0) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE '%/%' AND NAME NOT LIKE 'mysql/%' AND NAME NOT LIKE 'sys/%')",
  `(SELECT COALESCE(SUM(TOTAL_CONNECTIONS), 0) FROM information_schema.USER_STATISTICS WHERE USER REGEXP ${literal(loginName.source)})`,
  `(SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER REGEXP ${literal(loginName.source)})`,
].join(", ")}`;

/** Lists the logins. */
export const listLogins: string = `SELECT User FROM mysql.global_priv WHERE Host = '%' AND User REGEXP ${literal(loginName.source)}`;
