/**
 * Completes a lock file for every platform. A registry that serves only some platforms of a native package makes npm leave the others out,
 * and `npm ci` then refuses the file on every machine.
 */

/** An entry of package-lock.json, as far as it is read or written here. */
export interface LockEntry {
  readonly version?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The `packages` of package-lock.json: entries by folder. */
export type LockEntries = Readonly<Record<string, LockEntry>>;

/** Optional dependencies of installed packages that the lock file has no entry for, by folder, with their exact versions. */
export function missingPlatforms(entries: LockEntries): ReadonlyMap<string, string> {
  const missing = new Map<string, string>();
  for (const [folder, { optionalDependencies = {} }] of Object.entries(entries)) {
    if (!folder.startsWith("node_modules/")) continue;
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const path = `node_modules/${name}`;
      if (!(path in entries || `${folder}/${path}` in entries)) missing.set(path, version);
    }
  }
  return missing;
}

/** Adds an entry for each missing platform. It has no integrity, because the registry that made the lock file does not serve it. */
export function completeLock(entries: LockEntries): LockEntries {
  const added = [...missingPlatforms(entries)].map(
    ([folder, version]) => [folder, { version, optional: true, ...platformOf(folder) }] as const,
  );
  return Object.fromEntries<LockEntry>(
    [...Object.entries(entries), ...added].toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

const systems = "aix android darwin freebsd linux netbsd openbsd openharmony sunos win32".split(" ");
const processors = "arm arm64 ia32 loong64 mips64el ppc64 riscv64 s390x wasm32 x64".split(" ");

/** Reads the platform from the package's name, such as `@oxlint/binding-linux-x64-musl`, so that npm skips it elsewhere. */
function platformOf(folder: string): Pick<LockEntry, "os" | "cpu" | "libc"> {
  const words = folder.split(/[/-]/);
  const os = words.filter((word) => systems.includes(word));
  const cpu = words.filter((word) => processors.includes(word));
  const [libc] = /^(?:musl|gnu)/.exec(words.at(-1) ?? "") ?? [];
  return {
    ...(os.length > 0 ? { os } : {}),
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(os.includes("linux") && libc !== undefined ? { libc: [libc.replace("gnu", "glibc")] } : {}),
  };
}
