/** Instance parameters of MariaDB. */
import * as check from "./parameters.ts";

/** Databases of the server itself. */
export const reservedDatabases: readonly string[] = [
  "information_schema",
  "mysql",
  "performance_schema",
  "sys",
];
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

/** Returns the databases that the instance has beside its first one. */
export function furtherDatabases({ databases }: check.Parameters): readonly string[] {
  return Array.isArray(databases) ? databases.map(String) : [];
}

/** Tells whether logins may read the performance schema, which costs memory. */
export function seesPerformance({
  grant_performance_schema_permissions: isGranted,
}: check.Parameters): boolean {
  return isGranted === true;
}
