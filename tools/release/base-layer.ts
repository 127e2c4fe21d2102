/**
 * The lowest layer of all images: what Node is linked to, out of Debian packages, and who runs. There is no shell and no package manager.
 * Node brings its own certificates of authorities, so there are none here.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { unpackForeign, type UnpackedPackage } from "@klutch/engines";
import { type Architecture, type Layer, layerOf } from "@klutch/oci";
import { entriesOf, type ImageFile } from "./files.ts";

/** A layer and what is in it. */
export interface BaseLayer {
  readonly layer: Layer;
  readonly packages: readonly UnpackedPackage[];
}

/** Whoever runs in our images. */
export const runtimeUser = 65_532;

/** Libraries that Node is linked to, by package; the loader is one of libc's. The last one has the licences of those before it. */
const libraries: Readonly<Record<string, RegExp | undefined>> = {
  libc6: /\/(ld-linux-[\w-]+|libc|libm|libdl|libpthread|librt|libresolv)\.so\.\d+$/,
  "libgcc-s1": /\/libgcc_s\.so\.1$/,
  "libstdc++6": /\/libstdc\+\+\.so\.6$/,
  libatomic1: /\/libatomic\.so\.1$/,
  "gcc-12-base": undefined,
};

/** Builds it in `folder`. Throws `AptFault` when the packages cannot be had. */
export async function buildBaseLayer(
  architecture: Architecture,
  folder: string,
  say: (line: string) => void,
): Promise<BaseLayer> {
  const packages = await unpackForeign(Object.keys(libraries), folder, { architecture, say });
  const files = (await Promise.all(packages.map(filesOf))).flat();
  const tmp = { path: "tmp", folder: true, mode: 0o1777 } as const;
  return { layer: layerOf(entriesOf([...files, ...accounts()], [tmp])), packages };
}

async function filesOf({ name, root }: UnpackedPackage): Promise<readonly ImageFile[]> {
  const wanted = libraries[name];
  const found: ImageFile[] = [];
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = relative(root, join(entry.parentPath, entry.name));
    if (wanted?.test(path) === true) found.push(await library(root, path, entry.isSymbolicLink()));
    if (path === `usr/share/doc/${name}/copyright`)
      found.push({ path, content: await readFile(join(root, path)) });
  }
  return found;
}

/** Under the name that programs ask for, whatever the file is called that the link leads to. */
async function library(root: string, path: string, isLink: boolean): Promise<ImageFile> {
  const target = isLink ? await readlink(join(root, path)) : path;
  const base = isLink && !isAbsolute(target) ? dirname(path) : "";
  return { path, content: await readFile(join(root, base, target)), mode: 0o755 };
}

function accounts(): readonly ImageFile[] {
  const text = (path: string, content: string): ImageFile => ({ path, content: Buffer.from(content) });
  return [
    text(
      "etc/passwd",
      `root:x:0:0:root:/:/sbin/nologin\nklutch:x:${runtimeUser}:${runtimeUser}:klutch:/:/sbin/nologin\n`,
    ),
    text("etc/group", `root:x:0:\nklutch:x:${runtimeUser}:\n`),
    text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
  ];
}
