/**
 * Finds what a lock file lacks of native packages for other platforms. npm leaves out what its registry does not serve at that moment, and never
 * looks for it again: `npm ci` then refuses the file, or installs executables that nothing pins.
 */

/** An entry of package-lock.json, as far as it is read here. */
export interface LockEntry {
  readonly version?: string;
  /** Checksum of the package. */
  readonly integrity?: string;
  /** A workspace, which comes from no registry. */
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The `packages` of package-lock.json: entries by folder. */
export type LockEntries = Readonly<Record<string, LockEntry>>;

/** Lists packages without an entry, and entries without a SHA-512. */
export function lockFaults(entries: LockEntries): readonly string[] {
  return [
    ...[...missing(entries)].map(([path]) => `${path} has no entry`),
    ...Object.entries(entries)
      .filter(([path, entry]) => !isPinned(path, entry))
      .map(([path]) => `${path} has no sha512 checksum`),
  ];
}

/** The entries without those that npm has to look for again, and without the packages that need them. */
export function withoutFaults(entries: LockEntries): LockEntries {
  const parents = new Set(missing(entries).values());
  return Object.fromEntries(
    Object.entries(entries).filter(([path, entry]) => isPinned(path, entry) && !parents.has(path)),
  );
}

function isPinned(path: string, { link, integrity }: LockEntry): boolean {
  return link === true || !path.includes("node_modules/") || integrity?.startsWith("sha512-") === true;
}

/** Optional dependencies that have no entry or an unpinned one, by folder, each with the folder of the package that needs it. */
function missing(entries: LockEntries): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [folder, { optionalDependencies = {} }] of Object.entries(entries)) {
    if (!folder.startsWith("node_modules/")) continue;
    for (const name of Object.keys(optionalDependencies)) {
      const path = `node_modules/${name}`;
      if (!(path in entries || `${folder}/${path}` in entries)) found.set(path, folder);
    }
  }
  return found;
}
