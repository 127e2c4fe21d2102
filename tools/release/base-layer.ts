/**
 * The lowest layer of all images: what Node is linked to, out of Debian packages, and who runs. There is no shell and no package manager.
 * Node brings its own certificates of authorities, so there are none here.
 */
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { runtimeUser } from "@klutch/api";
import type { UnpackedPackage } from "@klutch/engines";
import { type Layer, layerOf } from "@klutch/oci";
import { entriesOf, type FileEntry, libraryEntry } from "./files.ts";

/** A layer and what is in it. */
export interface BaseLayer {
  readonly layer: Layer;
  readonly packages: readonly UnpackedPackage[];
  /** Names of the libraries in it. */
  readonly libraries: readonly string[];
}

/** Libraries that Node is linked to, by package; the loader is one of libc's. The last one has the licences of those before it. */
const libraries: Readonly<Record<string, RegExp | undefined>> = {
  libc6: /\/(ld-linux-[\w-]+|libc|libm|libdl|libpthread|librt|libresolv)\.so\.\d+$/,
  "libgcc-s1": /\/libgcc_s\.so\.1$/,
  "libstdc++6": /\/libstdc\+\+\.so\.6$/,
  libatomic1: /\/libatomic\.so\.1$/,
  "gcc-12-base": undefined,
};

/** Packages that it is made of. */
export const basePackages: readonly string[] = Object.keys(libraries);

/** Builds it of its packages, which are among these. */
export async function buildBaseLayer(all: readonly UnpackedPackage[]): Promise<BaseLayer> {
  const packages = all.filter(({ name }) => basePackages.includes(name));
  const files = (await Promise.all(packages.map(filesOf))).flat();
  const tmp = { path: "tmp", folder: true, mode: 0o1777 } as const;
  return {
    layer: layerOf(entriesOf([...files, ...accounts(), tmp])),
    packages,
    libraries: files.map(({ path }) => basename(path)),
  };
}

async function filesOf({ name, root }: UnpackedPackage): Promise<readonly FileEntry[]> {
  const wanted = libraries[name];
  const found: FileEntry[] = [];
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = relative(root, join(entry.parentPath, entry.name));
    if (wanted?.test(path) === true) found.push(await libraryEntry(root, path));
    if (path === `usr/share/doc/${name}/copyright`)
      found.push({ path, content: await readFile(join(root, path)) });
  }
  return found;
}

function accounts(): readonly FileEntry[] {
  const text = (path: string, content: string): FileEntry => ({ path, content: Buffer.from(content) });
  return [
    text(
      "etc/passwd",
      `root:x:0:0:root:/:/sbin/nologin\nklutch:x:${runtimeUser}:${runtimeUser}:klutch:/:/sbin/nologin\n`,
    ),
    text("etc/group", `root:x:0:\nklutch:x:${runtimeUser}:\n`),
    text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
  ];
}
