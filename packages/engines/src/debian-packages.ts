/** The data servers and tools that Debian packages hold, and where their programs are in them. */

/** Names of all of them. */
export type DebianName = "postgresql-15" | "mariadb" | "redis" | "prometheus";

/** What is needed of one of them. */
export interface DebianDefinition {
  readonly name: DebianName;
  /** The first one gives the version. */
  readonly packages: readonly [string, ...string[]];
  /** Folder of each program, below the root of the packages. */
  readonly programs: Readonly<Record<string, string>>;
  /** Program that says its version when it is asked with `--version`, and what it must say. */
  readonly probe: string;
  readonly version: RegExp;
}

const postgresFolder = "usr/lib/postgresql/15/bin";

/** By name. */
export const debianDefinitions: Readonly<Record<DebianName, DebianDefinition>> = {
  "postgresql-15": {
    name: "postgresql-15",
    packages: ["postgresql-15", "postgresql-client-15"],
    programs: {
      postgres: postgresFolder,
      initdb: postgresFolder,
      pg_dump: postgresFolder,
      pg_restore: postgresFolder,
      psql: postgresFolder,
    },
    probe: "postgres",
    version: /PostgreSQL\) (15\.\d+)/,
  },
  mariadb: {
    name: "mariadb",
    packages: ["mariadb-server-core", "mariadb-client"],
    programs: { mariadbd: "usr/sbin", mariadb: "usr/bin", "mariadb-dump": "usr/bin" },
    probe: "mariadbd",
    version: /Ver (10\.11\.\d+)/,
  },
  redis: {
    name: "redis",
    packages: ["redis-server", "redis-tools"],
    programs: { "redis-server": "usr/bin", "redis-cli": "usr/bin", "redis-check-rdb": "usr/bin" },
    probe: "redis-server",
    version: /v=(7\.\d+\.\d+)/,
  },
  // Its checker of rules, for tests.
  prometheus: {
    name: "prometheus",
    packages: ["prometheus"],
    programs: { promtool: "usr/bin" },
    probe: "promtool",
    version: /^promtool, version (2\.\d+\.\d+)/,
  },
};

/** Programs of a definition by name, below `root`. */
export function programsIn(definition: DebianDefinition, root: string): ReadonlyMap<string, string> {
  const base = root.endsWith("/") ? root : `${root}/`;
  return new Map(
    Object.entries(definition.programs).map(([name, folder]) => [name, `${base}${folder}/${name}`]),
  );
}

/** A version as a folder's name: a colon would end the folder's name in a list of folders. */
export function folderOfVersion(version: string): string {
  return version.replaceAll(/[^\w.+~-]/g, "_");
}

/**
 * What apt complains of, without credentials that its configuration may hold in addresses. `output` is what apt wrote.
 */
export function complaintsOf(output: string): string {
  const lines = output.split("\n").filter((line) => /^(E|Err|W):?/.test(line));
  const errors = lines.filter((line) => line.startsWith("E"));
  const first = (errors.length > 0 ? errors : lines).slice(0, 3).map((line) => line.trim());
  return first.join("; ").replaceAll(/\/\/[^/@\s]*@/g, "//");
}
