/** Servers and programs from Debian packages: those that are installed, else fetched into the cache. */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AptFault, type AptOptions, fetchPackages } from "./debian-apt.ts";
import {
  type DebianDefinition,
  debianDefinitions,
  type DebianName,
  folderOfVersion,
  programsIn,
} from "./debian-packages.ts";
import { arrange } from "./debian-layout.ts";
import { cacheFolder, inheritedEnvironment } from "./environment.ts";
import { EngineError } from "./errors.ts";
import { acquireFileLock } from "./file-lock.ts";
import { exists } from "./paths.ts";
import { reachableFolder } from "./unprivileged.ts";

const run = promisify(execFile);

/** The programs of one definition. */
export interface DebianPrograms {
  readonly name: DebianName;
  /** Of the server itself, as its first program says it: `10.11.19`. */
  readonly version: string;
  /** What holds `usr`: `/` when it is installed. */
  readonly root: string;
  /** What its programs need in their environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Path of a program. Throws `RangeError` for one that is not among them. */
  readonly path: (program: string) => string;
}

/** Options of `resolveDebian`. */
export interface DebianOptions {
  /** Default: `KLUTCH_CACHE_DIR` or the user's cache folder. */
  readonly cacheFolder?: string | undefined;
  /** Receives one line for each step that takes time. Default: silent. */
  readonly progress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Where installed programs are looked for, for tests. Default `/`. */
  readonly installedRoot?: string | undefined;
  /** For tests. */
  readonly apt?: Pick<AptOptions, "aptGet" | "settings"> | undefined;
}

/**
 * Installed programs, else those in the cache, else the newest that apt has. What is in the cache stays as it is until it does not run
 * any more. The user that servers run as can read them. Safe to call from many processes at once. Throws `EngineError` PackageMissing.
 */
export async function resolveDebian(name: DebianName, options: DebianOptions = {}): Promise<DebianPrograms> {
  const definition = debianDefinitions[name];
  const installed =
    definition.fetchedOnly === true ? undefined : await usable(definition, options.installedRoot ?? "/");
  if (installed !== undefined) return installed;
  const inCache = join(options.cacheFolder ?? cacheFolder, "debian", name);
  const base = await reachableFolder(inCache, "debian", name);
  const onWait = (): void => options.progress?.(`${name}: another process is fetching it, waiting …`);
  await using _lock = await acquireFileLock(join(base, "mutex"), { signal: options.signal, onWait });
  return (await newestIn(base, definition)) ?? (await fetched(base, definition, options));
}

async function newestIn(base: string, definition: DebianDefinition): Promise<DebianPrograms | undefined> {
  const names = (await readdir(base)).filter((name) => name !== "mutex" && !name.startsWith(partialPrefix));
  for (const name of names.toSorted(byNumbers.compare).toReversed()) {
    const programs = await usable(definition, join(base, name));
    if (programs !== undefined) return programs;
  }
  return undefined;
}

const partialPrefix = "partial-";
const byNumbers = new Intl.Collator("en", { numeric: true });

async function fetched(
  base: string,
  definition: DebianDefinition,
  options: DebianOptions,
): Promise<DebianPrograms> {
  // What a killed process left; we hold the lock.
  for (const name of await readdir(base))
    if (name.startsWith(partialPrefix)) await rm(join(base, name), { recursive: true, force: true });
  const partial = await mkdtemp(join(base, partialPrefix));
  const say = (line: string): void => options.progress?.(`${definition.name}: ${line}`);
  try {
    const version = await fetchPackages(definition.packages, partial, {
      ...options.apt,
      say,
      signal: options.signal,
    });
    await arrange(join(partial, "root"), definition.links ?? {});
    await chmod(join(partial, "root"), 0o755);
    const target = join(base, folderOfVersion(version));
    await rm(target, { recursive: true, force: true });
    await rename(join(partial, "root"), target);
    const programs = await usable(definition, target);
    if (programs === undefined)
      throw new AptFault(`version ${version}, which apt has, does not run here as ${definition.version}`);
    say(`fetched ${programs.version}`);
    return programs;
  } catch (cause) {
    if (cause instanceof AptFault) throw missing(definition, cause);
    throw cause;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

function missing({ name, packages }: DebianDefinition, cause: AptFault): EngineError {
  const list = packages.join(" ");
  return new EngineError(
    "PackageMissing",
    `${name} is not installed here and cannot be fetched: ${cause.message}. Install the Debian packages ${list} (apt-get install ${list}), or give this machine the network that its apt needs.`,
    { cause },
  );
}

/** The programs below `root` if all are there and say the right version. */
async function usable(definition: DebianDefinition, root: string): Promise<DebianPrograms | undefined> {
  const paths = programsIn(definition, root);
  for (const path of paths.values()) if (!(await exists(path))) return undefined;
  const env = await environmentOf(root);
  const path = (program: string): string => {
    const found = paths.get(program);
    if (found === undefined) throw new RangeError(`${definition.name} has no program ${program}`);
    return found;
  };
  const answer = await run(path(definition.probe), [definition.question ?? "--version"], {
    env: { ...inheritedEnvironment, ...env },
  }).catch(() => undefined);
  const version = definition.version.exec(answer?.stdout ?? "")?.[1];
  return version === undefined ? undefined : { name: definition.name, version, root, env, path };
}

/** Libraries of fetched packages are where the system does not look for them. */
async function environmentOf(root: string): Promise<Readonly<Record<string, string>>> {
  if (root === "/") return {};
  const folders: string[] = [];
  for (const parent of ["usr/lib", "lib"])
    for (const name of await readdir(join(root, parent)).catch(() => []))
      if (/-linux-gnu\w*$/.test(name)) folders.push(join(root, parent, name));
  return folders.length === 0 ? {} : { LD_LIBRARY_PATH: folders.join(":") };
}
