/** Servers, tools and the programs of real nodes from Debian packages: those that are installed, else fetched into the cache. */
import { chmod, glob, mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { reachableFolder } from "./data-home.ts";
import { AptFault, type AptOptions, fetchPackages } from "./debian-apt.ts";
import { type DebianDefinition, debianDefinitions, type DebianName, programsIn } from "./debian-packages.ts";
import { byNumbers, cacheFolder, EngineError, inheritedEnvironment, run } from "./environment.ts";
import { absentOf, acquireFileLock } from "./file-lock.ts";
import type { ObtainOptions } from "./resolve.ts";

/** The programs of one definition. */
export interface DebianPrograms {
  readonly name: DebianName;
  /** Version that the first program prints: `10.11.19`. */
  readonly version: string;
  /** Folder that contains `usr`: `/` for an installed server. */
  readonly root: string;
  /** Environment that its programs need. */
  readonly env: Readonly<Record<string, string>>;
  /** Path of a program. Throws `RangeError` for one that is not among them. */
  readonly path: (program: string) => string;
}

type NamedDefinition = DebianDefinition & { readonly name: DebianName };

/** Options of `resolveDebian`. */
interface DebianOptions extends ObtainOptions, Pick<AptOptions, "aptGet" | "settings"> {
  /** Root of installed programs, for tests. Default `/`. */
  readonly installedRoot?: string | undefined;
}

/**
 * Returns installed programs, else those in the cache, else the newest that apt has. The cached version stays as it is until it does not
 * run any more. The user that servers run as can read them. Safe to call from many processes at once. Throws `EngineError` PackageMissing.
 */
export async function resolveDebian(name: DebianName, options: DebianOptions = {}): Promise<DebianPrograms> {
  const definition = { ...debianDefinitions[name], name };
  const installed =
    definition.fetchedOnly === true ? undefined : await usable(definition, options.installedRoot ?? "/");
  if (installed !== undefined) return installed;
  const inCache = join(options.cacheFolder ?? cacheFolder, "debian", name);
  const base = await reachableFolder(inCache, "debian", name);
  const say = (line: string): void => options.progress?.(`${name}: ${line}`);
  const onWait = (): void => say("another process is fetching it, waiting …");
  await using _lock = await acquireFileLock(join(base, "mutex"), { signal: options.signal, onWait });
  for (const version of (await readdir(base)).toSorted(byNumbers.compare).toReversed()) {
    const programs = await usable(definition, join(base, version));
    if (programs !== undefined) return programs;
  }
  // Awaited, so that the lock is held until it is there.
  return await fetched(base, definition, { ...options, say });
}

async function fetched(
  base: string,
  definition: NamedDefinition,
  options: DebianOptions & { readonly say: (line: string) => void },
): Promise<DebianPrograms> {
  const { name, packages, links = {} } = definition;
  const partial = join(base, "partial");
  const root = join(partial, "root");
  // Removes the leftovers of a killed process; we hold the lock.
  await rm(partial, { recursive: true, force: true });
  try {
    await mkdir(partial);
    const version = await fetchPackages(packages, partial, options);
    await arrange(root, links);
    await chmod(root, 0o755);
    const target = join(base, folderOfVersion(version));
    await rm(target, { recursive: true, force: true });
    await rename(root, target);
    const programs = await usable(definition, target);
    if (programs === undefined)
      throw new AptFault(`version ${version}, which apt has, does not run here as ${definition.version}`);
    options.say(`fetched ${programs.version}`);
    return programs;
  } catch (cause) {
    if (!(cause instanceof AptFault)) throw cause;
    const list = packages.join(" ");
    throw new EngineError(
      "PackageMissing",
      `${name} is not installed here and cannot be fetched: ${cause.message}. Install the Debian packages ${list} (apt-get install ${list}), or give this machine the network that its apt needs.`,
      { cause },
    );
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Makes of unpacked packages what installing them would have made of the system: `links` are targets by path below `root`. */
async function arrange(root: string, links: Readonly<Record<string, string>>): Promise<void> {
  // An installed system links these into `usr`; some packages still name them.
  for (const folder of ["bin", "sbin"]) {
    const names = await readdir(join(root, folder)).catch(() => []);
    await mkdir(join(root, "usr", folder), { recursive: true });
    for (const name of names) await rename(join(root, folder, name), join(root, "usr", folder, name));
  }
  for (const [path, target] of Object.entries(links)) await symlink(target, join(root, path));
}

/** Returns a version as a folder's name: a colon would end the folder's name in a list of folders. */
export function folderOfVersion(version: string): string {
  return version.replaceAll(/[^\w.+~-]/g, "_");
}

/** Returns the programs below `root` if all exist and say the right version. */
async function usable(definition: NamedDefinition, root: string): Promise<DebianPrograms | undefined> {
  const paths = programsIn(definition, root);
  if ((await absentOf([...paths.values()])).length > 0) return undefined;
  const env = await environmentOf(root);
  const path = (program: string): string => {
    const found = paths.get(program);
    if (found === undefined) throw new RangeError(`${definition.name} has no program ${program}`);
    return found;
  };
  const answer = await run(path(definition.probe), [definition.question ?? "--version"], {
    env: { ...inheritedEnvironment, ...env },
  }).catch(() => undefined);
  const version = definition.version.exec(`${answer?.stdout ?? ""}${answer?.stderr ?? ""}`)?.[1];
  return version === undefined ? undefined : { name: definition.name, version, root, env, path };
}

/** Libraries of fetched packages are where the system does not look for them. */
async function environmentOf(root: string): Promise<Readonly<Record<string, string>>> {
  if (root === "/") return {};
  const found = await Array.fromAsync(glob("{usr/lib,lib}/*-linux-gnu*", { cwd: root }));
  return found.length === 0 ? {} : { LD_LIBRARY_PATH: found.map((folder) => join(root, folder)).join(":") };
}

/**
 * Containerd, runc, CNI plugins, and what sets up a node's network. The environment is for everything on a node: kubelet, kube-proxy, containerd and
 * the CNI plugins run programs by their names.
 */
export interface NodePrograms extends Pick<DebianPrograms, "version" | "path" | "env"> {
  /** Folder of the CNI plugins. */
  readonly pluginFolder: string;
}

/** Returns installed programs, else those in the cache, else those that apt has. Nothing is installed. Throws `EngineError` PackageMissing. */
export async function resolveNodePrograms(options: DebianOptions = {}): Promise<NodePrograms> {
  const { version, root, env, path } = await resolveDebian("node-programs", options);
  // Links that the system makes in `bin` may lead out of `root`; the real programs come first.
  const folders = ["usr/bin", "usr/sbin"].map((folder) => join(root, folder));
  const search = [...folders, inheritedEnvironment["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin"];
  // Iptables looks for its extensions where it was meant to be installed.
  const [extensions] = root === "/" ? [] : await Array.fromAsync(glob("usr/lib/*/xtables", { cwd: root }));
  const found = extensions === undefined ? {} : { XTABLES_LIBDIR: join(root, extensions) };
  const whole = { ...env, PATH: search.join(":"), ...found };
  return { version, path, pluginFolder: dirname(path("bridge")), env: whole };
}
