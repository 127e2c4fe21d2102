/** Artefacts of others as the engines have them, for nodes that reach no registry but ours: images, and Crossplane's Helm chart. */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { runtimeUser } from "@klutch/api";
import { engineDefinition, resolveEngine } from "@klutch/engines";
import type { NodeRegistry } from "@klutch/nodes";
import { buildImage, plainLayerOf, pushImage, type TarEntry } from "@klutch/oci";
import { architecture } from "../machine.ts";

const run = promisify(execFile);

/** Host under which Crossplane's chart names its image; nodes are to ask our registry instead. */
export const crossplaneImageHost = "xpkg.crossplane.io";

/** Pushes Crossplane, as its chart names it below its host. */
export async function pushCrossplane(registry: NodeRegistry): Promise<void> {
  const program = await resolveEngine("crossplane");
  // It keeps its packages in a volume, and what it unpacks in here.
  const files: TarEntry[] = [{ path: "tmp", folder: true, mode: 0o1777 }];
  // Crossplane installs them into a cluster, and looks for them at the root.
  for (const name of ["crds", "webhookconfigurations"]) {
    const source = join(dirname(program), "cluster", name);
    for (const file of (await readdir(source)).toSorted())
      files.push({ path: `${name}/${file}`, content: await readFile(join(source, file)) });
  }
  await pushProgram(registry, "crossplane", "bin/", [], files);
}

/** Pushes Dex, and returns its name below the registry's host. It wants its configuration in /etc/dex/config.yaml. */
export function pushDex(registry: NodeRegistry): Promise<string> {
  return pushProgram(registry, "dex", "", ["serve", "/etc/dex/config.yaml"]);
}

async function pushProgram(
  registry: NodeRegistry,
  name: "crossplane" | "dex",
  folder: string,
  args: readonly string[],
  files: readonly TarEntry[] = [],
): Promise<string> {
  const program = await resolveEngine(name);
  const path = `${folder}${basename(program)}`;
  const entry = { path, content: await readFile(program), mode: 0o755 };
  const image = buildImage({
    architecture,
    layers: [plainLayerOf([...files, entry])],
    config: { Entrypoint: [`/${path}`, ...args], User: `${runtimeUser}:${runtimeUser}` },
  });
  const repository = `${name}/${name}`;
  const { version: tag } = engineDefinition(name);
  await pushImage(image, { registry: registry.url, repository, tag });
  return `${repository}:${tag}`;
}

/** Packs Crossplane's own Helm chart into the folder, and returns the archive's path. */
export async function packCrossplaneChart(folder: string): Promise<string> {
  const version = engineDefinition("crossplane").version.replace(/^v/, "");
  const chart = join(dirname(await resolveEngine("crossplane")), "cluster/charts/crossplane");
  const args = ["package", chart, "--version", version, "--app-version", version, "--destination", folder];
  await run(await resolveEngine("helm"), args);
  return join(folder, `crossplane-${version}.tgz`);
}
