/** Writes the manifest by which krew, kubectl's manager of plugins, installs `kubectl bind`. */
import { join } from "node:path";
import { klutchVersion, releaseDownloads } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import { type Checksums, checksumsOf } from "./checksums.ts";
import { replaceFile } from "./disk-full.ts";
import { ReleaseError } from "./errors.ts";
import {
  allPlatforms,
  archiveName,
  type Platform,
  platformName,
  programName,
} from "./executables-archive.ts";

const pluginName = "bind";
const executable = "kubectl-bind";

/** Makes the manifest, a Plugin of krew, of the archives' checksums. Throws `ReleaseError` when they lack an archive. */
export function krewPlugin(sums: Checksums): KubeObject {
  return {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: pluginName },
    spec: {
      version: klutchVersion,
      homepage: releaseDownloads,
      shortDescription: "Use APIs of a control plane in your cluster",
      description: description.trim(),
      caveats: caveats.trim(),
      platforms: allPlatforms.map((platform) => platformOf(platform, sums)),
    },
  };
}

function platformOf(platform: Platform, sums: Checksums): object {
  const archive = archiveName(executable, platform);
  const sha256 = sums.get(archive);
  if (sha256 === undefined)
    throw new ReleaseError(
      `the manifest for krew needs ${archive} for ${platformName(platform)}, which has no checksum: build all executables`,
    );
  const bin = programName(executable, platform);
  return {
    selector: { matchLabels: { os: platform.os, arch: platform.architecture } },
    uri: `${releaseDownloads}/${klutchVersion}/executables/${archive}`,
    sha256,
    bin,
    files: [bin, "LICENSE", "NODE-LICENSE", "THIRD-PARTY-LICENSES"].map((from) => ({ from, to: "." })),
  };
}

/** Writes it beside the archives in the folder of a release; krew wants the file to have the plugin's name. */
export async function writeKrewManifest(folder: string): Promise<void> {
  const archives = join(folder, "executables");
  const plugin = krewPlugin(await checksumsOf(archives));
  await replaceFile(join(archives, `${pluginName}.yaml`), formatYaml(plugin));
}

const description = `
Binds APIs that a service provider offers, such as databases, in the current
cluster: it logs in to the provider in a browser, asks for consent, and
installs the agent that syncs claims, their status and their Secrets.
`;

const caveats = `
Start with: kubectl bind https://klutch.example.com/export
Shell completion: kubectl bind completion --help
`;
