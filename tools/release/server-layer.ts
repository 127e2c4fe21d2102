/** Builds layers with database servers out of Debian packages: their files, and the libraries that those are linked to and no lower layer has. */
import { glob, lstat, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { UnpackedPackage } from "@klutch/engines";
import type { TarEntry } from "@klutch/oci";
import { neededLibraries } from "./elf.ts";
import { buildLayer, type BuiltLayer, filesIn, libraryEntry } from "./files.ts";
import type { ServerSet } from "./server-sets.ts";

/** A file of a package. */
interface Found {
  readonly from: UnpackedPackage;
  readonly entry: TarEntry;
}

/** Builds the layer of one set. `below` names the libraries of lower layers. Throws when a library or a licence is in none of the packages. */
export async function buildServerLayer(
  set: ServerSet,
  packages: readonly UnpackedPackage[],
  below: ReadonlySet<string>,
): Promise<BuiltLayer> {
  const files = (await Promise.all(packages.map((from) => filesOf(from, set.files[from.name])))).flat();
  const libraries = await librariesOf(files, packages, below);
  const found = [...files, ...libraries];
  const used = packages.filter((each) => found.some(({ from }) => from === each));
  const licences = await Promise.all(used.map((each) => licenceOf(each, packages)));
  return buildLayer([...found.map(({ entry }) => entry), ...licences], {
    debian: used,
    libraries: libraries.map(({ entry }) => basename(entry.path)),
  });
}

async function filesOf(from: UnpackedPackage, wanted: RegExp | undefined): Promise<readonly Found[]> {
  if (wanted === undefined) return [];
  const paths = (await filesIn(from.root)).filter((path) => wanted.test(path));
  if (paths.length === 0) throw new Error(`the Debian package ${from.name} has no file ${wanted.source}`);
  return Promise.all(paths.map(async (path) => ({ from, entry: await entryOf(from.root, path) })));
}

/** Links stay links: what they lead to is taken by its own name. */
async function entryOf(root: string, path: string): Promise<TarEntry> {
  const file = join(root, path);
  const found = await lstat(file);
  if (found.isSymbolicLink()) return { path, linkTo: await readlink(file) };
  return { path, content: await readFile(file), mode: (found.mode & 0o111) === 0 ? 0o644 : 0o755 };
}

/** Finds what the files are linked to, and what that is linked to. */
async function librariesOf(
  files: readonly Found[],
  packages: readonly UnpackedPackage[],
  below: ReadonlySet<string>,
): Promise<readonly Found[]> {
  const libraries = new Map<string, Found>();
  const open = [...files];
  for (const { entry } of open)
    for (const name of "content" in entry ? neededLibraries(entry.content) : []) {
      if (below.has(name) || libraries.has(name)) continue;
      const library = await libraryIn(packages, name);
      if (library === undefined)
        throw new Error(`${entry.path} needs ${name}, which is in none of the Debian packages that are read`);
      libraries.set(name, library);
      // The loop goes on to it.
      open.push(library);
    }
  return [...libraries.values()];
}

/** Looks into the folders of libraries in the order in which the loader does. */
async function libraryIn(packages: readonly UnpackedPackage[], name: string): Promise<Found | undefined> {
  for (const from of packages)
    for (const parent of ["lib", "usr/lib"])
      for await (const path of glob(`${parent}/*-linux-gnu/${name}`, { cwd: from.root }))
        return { from, entry: await libraryEntry(from.root, path) };
  return undefined;
}

/** The package's own, or that of the package which its folder leads to. */
async function licenceOf(
  { name, root }: UnpackedPackage,
  packages: readonly UnpackedPackage[],
): Promise<TarEntry> {
  const folder = `usr/share/doc/${name}`;
  const owner = await readlink(join(root, folder)).catch(() => name);
  const source = packages.find((each) => each.name === basename(owner))?.root ?? root;
  const content = await readFile(join(source, "usr", "share", "doc", basename(owner), "copyright"));
  return { path: `${folder}/copyright`, content };
}
