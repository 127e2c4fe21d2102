/** Images of others' programs as the engines build them, for nodes that reach no registry but ours. */
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { runtimeUser } from "@klutch/api";
import { engineDefinition, resolveEngine } from "@klutch/engines";
import type { NodeRegistry } from "@klutch/nodes";
import { buildImage, type Image, plainLayerOf, pushImage, type TarEntry } from "@klutch/oci";

/** Host under which Crossplane's chart names its image; nodes are to ask our registry instead. */
export const crossplaneImageHost = "xpkg.crossplane.io";

/** Folders that Crossplane installs into a cluster; its program looks for them at the root. */
const shipped = ["crds", "webhookconfigurations"];

/** Pushes Crossplane, as its chart names it below its host. */
export async function pushCrossplane(registry: NodeRegistry): Promise<void> {
  const program = await resolveEngine("crossplane");
  const { version: tag } = engineDefinition("crossplane");
  const files: TarEntry[] = [await programEntry(program, "bin/")];
  for (const name of shipped) {
    const source = join(dirname(program), "cluster", name);
    for (const file of (await readdir(source)).toSorted())
      files.push({ path: `${name}/${file}`, content: await readFile(join(source, file)) });
  }
  // It keeps its packages in a volume, and what it unpacks in here.
  const folder: TarEntry = { path: "tmp", folder: true, mode: 0o1777 };
  const image = imageOf([folder, ...files], ["/bin/crossplane"]);
  await pushImage(image, { registry: registry.url, repository: "crossplane/crossplane", tag });
}

/** Pushes Dex; gives back the image's name at the host by which nodes know the registry. It wants its configuration in /etc/dex/config.yaml. */
export async function pushDex(registry: NodeRegistry, host: string): Promise<string> {
  const { version: tag } = engineDefinition("dex");
  const image = imageOf(
    [await programEntry(await resolveEngine("dex"))],
    ["/dex", "serve", "/etc/dex/config.yaml"],
  );
  await pushImage(image, { registry: registry.url, repository: "dex/dex", tag });
  return `${host}/dex/dex:${tag}`;
}

async function programEntry(program: string, folder = ""): Promise<TarEntry> {
  return { path: `${folder}${basename(program)}`, content: await readFile(program), mode: 0o755 };
}

function imageOf(files: readonly TarEntry[], entrypoint: readonly string[]): Image {
  return buildImage({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    layers: [plainLayerOf(files)],
    config: { Entrypoint: entrypoint, User: `${runtimeUser}:${runtimeUser}` },
  });
}
