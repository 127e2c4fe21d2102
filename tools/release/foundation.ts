/**
 * Builds what all images of a platform stand on. The lowest layer has what Node is linked to, out of Debian packages, and who runs: no shell, no
 * package manager, and no certificates, because Node brings its own. The next has Node, the same version for all programs; database servers follow.
 */
import { mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { runtimeUser } from "@klutch/api";
import { type UnpackedPackage, unpackForeign } from "@klutch/engines";
import type { Architecture } from "@klutch/oci";
import { buildLayer, type BuiltLayer, type FileEntry, filesIn, libraryEntry } from "./files.ts";
import { fetchNpmArchive, type NpmArchiveOptions } from "./npm-archive.ts";
import { buildServerLayer } from "./server-layer.ts";
import { type ServerName, serverSets } from "./server-sets.ts";

/** The layers of one platform. */
export interface Foundation {
  readonly architecture: Architecture;
  readonly base: BuiltLayer;
  readonly node: BuiltLayer;
  /** Layers of the requested servers. */
  readonly servers: ReadonlyMap<ServerName, BuiltLayer>;
}

/** Builds them in `folder`, which is made. Throws `AptFault` when Debian packages cannot be had. */
export async function buildFoundation(
  architecture: Architecture,
  names: ReadonlySet<ServerName>,
  folder: string,
  say: (line: string) => void,
): Promise<Foundation> {
  await mkdir(folder);
  const sets = serverSets.filter(({ name }) => names.has(name));
  const wanted = sets.flatMap(({ files, libraries }) => [...Object.keys(files), ...libraries]);
  const packages = await unpackForeign([...new Set([...Object.keys(libraries), ...wanted])], folder, {
    architecture,
    say: (line) => say(`${architecture}: ${line}`),
  });
  const base = await buildBaseLayer(packages);
  // Each has what those below it lack; the sets come from the lowest.
  const below = new Set(base.libraries);
  const servers = new Map<ServerName, BuiltLayer>();
  for (const set of sets) {
    const layer = await buildServerLayer(set, packages, below);
    for (const library of layer.libraries) below.add(library);
    servers.set(set.name, layer);
  }
  say(`${architecture}: packing Node …`);
  return { architecture, base, node: await buildNodeLayer(architecture, folder), servers };
}

/** Libraries that Node is linked to, by package; the loader is one of libc's. The last one has the licences of those before it. */
const libraries: Readonly<Record<string, RegExp | undefined>> = {
  libc6: /\/(ld-linux-[\w-]+|libc|libm|libdl|libpthread|librt|libresolv)\.so\.\d+$/,
  "libgcc-s1": /\/libgcc_s\.so\.1$/,
  "libstdc++6": /\/libstdc\+\+\.so\.6$/,
  libatomic1: /\/libatomic\.so\.1$/,
  "gcc-12-base": undefined,
};

/** Builds the lowest layer of its packages, which are among these. */
async function buildBaseLayer(all: readonly UnpackedPackage[]): Promise<BuiltLayer> {
  const debian = all.filter(({ name }) => name in libraries);
  const files = (await Promise.all(debian.map(filesOf))).flat();
  const tmp = { path: "tmp", folder: true, mode: 0o1777 } as const;
  return buildLayer([...files, ...accounts, tmp], {
    debian,
    libraries: files.map(({ path }) => basename(path)),
  });
}

async function filesOf({ name, root }: UnpackedPackage): Promise<readonly FileEntry[]> {
  const found: FileEntry[] = [];
  for (const path of await filesIn(root)) {
    if (libraries[name]?.test(path) === true) found.push(await libraryEntry(root, path));
    if (path === `usr/share/doc/${name}/copyright`)
      found.push({ path, content: await readFile(join(root, path)) });
  }
  return found;
}

const accounts: readonly FileEntry[] = Object.entries({
  "etc/passwd": `root:x:0:0:root:/:/sbin/nologin\nklutch:x:${runtimeUser}:${runtimeUser}:klutch:/:/sbin/nologin\n`,
  "etc/group": `root:x:0:\nklutch:x:${runtimeUser}:\n`,
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}).map(([path, text]) => ({ path, content: Buffer.from(text) }));

/** Path of Node in an image. */
export const nodePath = "usr/bin/node";

/** Builds the layer with npm's Node in `folder`. Throws `ReleaseError` when it is another than the lock file names. */
export async function buildNodeLayer(
  architecture: Architecture,
  folder: string,
  options?: NpmArchiveOptions,
): Promise<BuiltLayer> {
  const name = `node-linux-${architecture === "amd64" ? "x64" : "arm64"}`;
  const node = await fetchNpmArchive(name, folder, options);
  const files = [
    { path: nodePath, content: await node.read("bin/node"), mode: 0o755 },
    { path: "usr/share/doc/node/LICENSE", content: await node.read("LICENSE") },
  ];
  return buildLayer(files, { npm: [node.package] });
}
