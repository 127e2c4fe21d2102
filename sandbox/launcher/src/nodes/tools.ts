/** Commands that docs/install.md wants on the path, as far as they are not on every machine. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ArtefactName, packageArtefacts } from "@klutch/api";
import { cacheFolder, resolveEngine } from "@klutch/engines";
import { inheritedEnvironment as env } from "../environment.ts";
import { architecture, repository } from "../machine.ts";

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
  const images = artefacts.map((name) => `--image=${name}`).join(" ");
  return `#!/bin/sh
export PATH="${env["PATH"]}" HOME="${env["HOME"]}" KLUTCH_CACHE_DIR="${cacheFolder}" TMPDIR="${tmpdir()}"
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
  await symlink(await resolveEngine("helm"), join(tools, "helm"));
  await writeFile(join(tools, "npm"), npmScript(), { mode: 0o755 });
  // The person who is played has the browser.
  await writeFile(join(tools, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
  return tools;
}
