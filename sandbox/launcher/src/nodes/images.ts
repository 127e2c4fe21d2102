/** Provides what docs/install.md wants: images of others and Crossplane's Helm chart as the engines have them, and commands that not every machine has. */
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type ArtefactName, packageArtefacts, runtimeUser } from "@klutch/api";
import * as engines from "@klutch/engines";
import type { NodeRegistry } from "@klutch/nodes";
import { buildImage, plainLayerOf, pushImage, type TarEntry } from "@klutch/oci";
import { architecture, repository } from "../machine.ts";

/** Host under which Crossplane's chart names its image; nodes are to ask our registry instead. */
export const crossplaneImageHost = "xpkg.crossplane.io";

/** Pushes Crossplane, as its chart names it below its host. */
export async function pushCrossplane(registry: NodeRegistry): Promise<void> {
  const program = await engines.resolveEngine("crossplane");
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
  const program = await engines.resolveEngine(name);
  const path = `${folder}${basename(program)}`;
  const entry = { path, content: await readFile(program), mode: 0o755 };
  const image = buildImage({
    architecture,
    layers: [plainLayerOf([...files, entry])],
    config: { Entrypoint: [`/${path}`, ...args], User: `${runtimeUser}:${runtimeUser}` },
  });
  const repository = `${name}/${name}`;
  const { version: tag } = engines.engineDefinition(name);
  await pushImage(image, { registry: registry.url, repository, tag });
  return `${repository}:${tag}`;
}

/** Packs Crossplane's own Helm chart into the folder, and returns the archive's path. */
export async function packCrossplaneChart(folder: string): Promise<string> {
  const version = engines.engineDefinition("crossplane").version.replace(/^v/, "");
  const chart = join(dirname(await engines.resolveEngine("crossplane")), "cluster/charts/crossplane");
  const args = ["package", chart, "--version", version, "--app-version", version, "--destination", folder];
  await engines.run(await engines.resolveEngine("helm"), args);
  return join(folder, `crossplane-${version}.tgz`);
}

/** Artefacts that are installed. */
const artefacts: readonly ArtefactName[] = [
  "konnector",
  "backend",
  "broker",
  packageArtefacts.provider,
  packageArtefacts.function,
  packageArtefacts.configuration,
];

/**
 * Replaces `npm run release:build`, which writes to the checkout and builds all platforms, most of which cannot run here. This one
 * builds the artefacts for this machine in the current folder, and `release:push` takes them from there.
 */
function npmScript(): string {
  const env = engines.inheritedEnvironment;
  const images = artefacts.map((name) => `--image=${name}`).join(" ");
  return `#!/bin/sh
export PATH="${env["PATH"]}" HOME="${env["HOME"]}" KLUTCH_CACHE_DIR="${engines.cacheFolder}" TMPDIR="${tmpdir()}"
unset SSL_CERT_FILE
node="${process.execPath}" tools="${repository}/tools/release" release="$PWD/dist/release"
case "$1 $2 $3" in
"run release:build --")
  shift 3
  exec "$node" "$tools/main.ts" --out="$release" --architecture=${architecture} ${images} --executable=linux/${architecture} "$@" ;;
"run release:push --")
  shift 3
  exec "$node" "$tools/push.ts" --from="$release" "$@" ;;
*) exec npm "$@" ;;
esac
`;
}

/** Writes them, and returns their folder. */
export async function writeTools(folder: string): Promise<string> {
  const tools = join(folder, "tools");
  await mkdir(tools);
  await symlink(await engines.resolveEngine("helm"), join(tools, "helm"));
  await writeFile(join(tools, "npm"), npmScript(), { mode: 0o755 });
  // The person who is played has the browser.
  await writeFile(join(tools, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
  return tools;
}
