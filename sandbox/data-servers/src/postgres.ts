/** PostgreSQL databases, their logins and their dumps. */
export * from "./postgres-dumps.ts";
export * from "./postgres-database.ts";
