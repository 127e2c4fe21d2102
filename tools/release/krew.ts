/** Writes the manifest by which krew, kubectl's manager of plugins, installs `kubectl bind`. */
import { join } from "node:path";
import { klutchVersion, releaseDownloads } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import { type Checksums, checksumsOf } from "./checksums.ts";
import { replaceFile } from "./disk-full.ts";
import { ReleaseError } from "./errors.ts";
import { archiveName, programName } from "./executables-archive.ts";
import { allPlatforms, type Platform, platformName } from "./executables-platforms.ts";

const executable = "kubectl-bind";

/** A Plugin of `krew.googlecontainertools.github.com/v1alpha2`. */
export interface KrewPlugin {
  readonly apiVersion: string;
  readonly kind: "Plugin";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<
    Record<"version" | "homepage" | "shortDescription" | "description" | "caveats", string>
  > & { readonly platforms: readonly KrewPlatform[] };
}

interface KrewPlatform {
  readonly selector: { readonly matchLabels: { readonly os: string; readonly arch: string } };
  readonly uri: string;
  readonly sha256: string;
  readonly bin: string;
  readonly files: readonly { readonly from: string; readonly to: string }[];
}

/** Makes the manifest of the archives' checksums. Throws `ReleaseError` when they lack an archive. */
export function krewPlugin(sums: Checksums): KrewPlugin {
  return {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "bind" },
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

function platformOf(platform: Platform, sums: Checksums): KrewPlatform {
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
  await replaceFile(join(archives, `${plugin.metadata.name}.yaml`), formatYaml(plugin));
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
