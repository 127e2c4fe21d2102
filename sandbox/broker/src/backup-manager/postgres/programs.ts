/** Which `pg_dump` and `pg_restore` are used. They must not be older than the server. */
import { execFile } from "node:child_process";
import { access, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { programEnvironment } from "@klutch/data-servers";

const run = promisify(execFile);

/** A pair of one version. */
export interface DumpPrograms {
  /** Folder that holds both. */
  readonly folder: string;
  readonly major: number;
}

/** Where Debian and its kin keep each version. */
const installedVersions = "/usr/lib/postgresql";

/** Where programs may be: the given folder alone, else those of the system and of the search path. */
export async function programFolders(
  given: string | undefined,
  searchPath: string,
): Promise<readonly string[]> {
  if (given !== undefined) return [given];
  const versions = await readdir(installedVersions).catch(() => []);
  return [
    ...versions.map((version) => join(installedVersions, version, "bin")),
    ...searchPath.split(delimiter).filter((folder) => folder !== ""),
  ];
}

/** The pairs that are in the folders. */
export async function findPrograms(
  folders: readonly string[],
  libraries?: string,
): Promise<readonly DumpPrograms[]> {
  const env = programEnvironment(libraries);
  const found = await Promise.all(folders.map((folder) => programsIn(folder, env)));
  return found.filter((programs) => programs !== undefined);
}

async function programsIn(
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<DumpPrograms | undefined> {
  try {
    await access(join(folder, "pg_restore"));
    const { stdout } = await run(join(folder, "pg_dump"), ["--version"], { env, timeout: 10_000 });
    const major = Number(/\b(\d+)(?:\.\d+)*\b/.exec(stdout)?.[1]);
    return Number.isSafeInteger(major) ? { folder, major } : undefined;
  } catch {
    return undefined;
  }
}

/** The pair nearest to the server's version, or one sentence that says what is missing. */
export function choosePrograms(
  found: readonly DumpPrograms[],
  serverMajor: number,
): DumpPrograms | { readonly missing: string } {
  const [nearest] = found
    .filter(({ major }) => major >= serverMajor)
    .toSorted((left, right) => left.major - right.major);
  if (nearest !== undefined) return nearest;
  const versions = [...new Set(found.map(({ major }) => major))].toSorted((left, right) => left - right);
  const present = versions.length === 0 ? "there is none" : `there is only ${versions.join(", ")}`;
  return {
    missing: `PostgreSQL ${serverMajor} cannot be backed up or restored here: pg_dump and pg_restore ${serverMajor} or newer are needed and ${present}; install the package postgresql-client-${serverMajor}`,
  };
}
