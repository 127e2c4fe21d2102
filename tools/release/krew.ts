/** Writes the manifest by which krew, kubectl's manager of plugins, installs `kubectl bind`. */
import { join } from "node:path";
import { klutchVersion, releaseDownloads } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import { manifestIn } from "../generate/manifests.ts";
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

const executable = "kubectl-bind";

/** Makes the manifest, a Plugin of krew, of the archives' checksums. Throws `ReleaseError` when they lack an archive. */
export function krewPlugin(sums: Checksums): KubeObject {
  return manifestIn("tools/release/krew.yaml", {
    VERSION: klutchVersion,
    DOWNLOADS: releaseDownloads,
    PLATFORMS: allPlatforms.map((platform) => platformOf(platform, sums)),
  });
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
  await replaceFile(join(archives, "bind.yaml"), formatYaml(plugin));
}
