/** Instance parameters of MariaDB. */
import { type ParameterChecks, type Parameters, refuseParameter } from "./parameters.ts";

/** Databases of the server itself, in which a tenant has nothing to do. */
export const reservedDatabases: readonly string[] = [
  "information_schema",
  "mysql",
  "performance_schema",
  "sys",
];
const mostDatabases = 100;

/** Whether a database of that name may be a tenant's. */
export function isTenantsDatabase(name: string): boolean {
  return /^[A-Za-z]\w{0,63}$/.test(name) && !reservedDatabases.includes(name.toLowerCase());
}

/** By name; each throws `BrokerError` 400. */
export const mariadbParameters: ParameterChecks = {
  binlog_expire_days(field, value) {
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 99) return value;
    throw refuseParameter(field, value, "a whole number from 1 to 99");
  },
  databases(field, value) {
    if (!Array.isArray(value)) throw refuseParameter(field, value, "a list of names");
    const list: readonly unknown[] = value;
    if (list.length > mostDatabases)
      throw refuseParameter(field, list.length, `at most ${mostDatabases} names`);
    return list.map((name, index) => {
      if (typeof name === "string" && isTenantsDatabase(name)) return name;
      throw refuseParameter(
        `${field}[${index}]`,
        name,
        `a name of letters, digits and _ that begins with a letter and is none of ${reservedDatabases.join(", ")}`,
      );
    });
  },
  grant_performance_schema_permissions(field, value) {
    if (typeof value === "boolean") return value;
    throw refuseParameter(field, value, "true or false");
  },
};

/** Databases that the instance shall have beside its first one. */
export function furtherDatabases(parameters: Parameters): readonly string[] {
  const names = parameters["databases"];
  return Array.isArray(names) ? names.map(String) : [];
}

/** Whether logins may read the performance schema, which costs memory. */
export function seesPerformance(parameters: Parameters): boolean {
  return parameters["grant_performance_schema_permissions"] === true;
}
