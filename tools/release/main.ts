/**
 * `npm run release:build`: the images of all programs for all platforms, in `dist/release/images`, and the Crossplane packages in
 * `dist/release/packages`, as OCI layouts; the manifests that install them in `dist/release/bundles`, and the Helm charts in
 * `dist/release/charts`; executables for people, npm packages, and the checksums of everything.
 *
 *     npm run release:build -- [--out FOLDER] [--registry HOST/PATH] [--architecture amd64] [--image konnector] [--executable linux/amd64]
 *                              [--sign-command PROGRAM] [--sign-executables-command PROGRAM]
 *
 * No Docker: Debian packages come by apt, Node by npm. The same commit and packages give the same bytes.
 */
import { parseRegistry } from "@klutch/api";
import type { Architecture } from "@klutch/oci";
import { writeChecksums } from "./checksums.ts";
import { ReleaseError } from "./errors.ts";
import { buildExecutables } from "./executables.ts";
import { allPlatforms, platformName } from "./executables-platforms.ts";
import { readReleaseFlags } from "./flags.ts";
import { imageDefinitions } from "./images.ts";
import { writeKrewManifest } from "./krew.ts";
import { buildNpmPackages } from "./npm-packages.ts";
import { buildRelease } from "./release.ts";
import { signWith } from "./signing.ts";

const say = (line: string): void => console.log(line);
const allArchitectures: readonly Architecture[] = ["amd64", "arm64"];

try {
  const values = readReleaseFlags();
  const { out } = values;
  const registry = parseRegistry(values.registry);
  const architectures = chosen("architecture", allArchitectures, (each) => each, values.architecture);
  const definitions = chosen("image", imageDefinitions(registry), ({ name }) => name, values.image);
  const platforms = chosen("executable", allPlatforms, platformName, values.executable);
  const namesImages = values.architecture !== undefined || values.image !== undefined;
  const namesExecutables = values.executable !== undefined;
  const hasImages = namesImages || !namesExecutables;
  const executables = namesExecutables || !namesImages ? platforms : [];

  const { "sign-command": signer, "sign-executables-command": executablesSigner } = values;
  if (signer !== undefined && !hasImages)
    throw new ReleaseError("--sign-command: this build has no image to sign; name one by --image");
  if (executablesSigner !== undefined && executables.every(({ os }) => os === "linux"))
    throw new ReleaseError(
      "--sign-executables-command: this build has no executable for macOS or Windows to sign; name one by --executable",
    );

  const sign = signer === undefined ? undefined : signWith(signer);
  if (hasImages) await buildRelease({ out, registry, architectures, definitions, sign, say });
  if (executables.length > 0)
    await buildExecutables({ out, platforms: executables, signWith: executablesSigner, say });
  if (!namesImages && !namesExecutables) {
    await buildNpmPackages({ out, say });
    await writeKrewManifest(out);
  }
  // Last, because they are of everything that is there.
  await writeChecksums(out);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** Those that the flag names; all without it. */
function chosen<T>(
  flag: string,
  all: readonly T[],
  nameOf: (each: T) => string,
  names: readonly string[] | undefined,
): readonly T[] {
  const wrong = names?.find((name) => !all.some((each) => nameOf(each) === name));
  if (wrong !== undefined)
    throw new ReleaseError(
      `--${flag}: is ${JSON.stringify(wrong)}, expected one of ${all.map(nameOf).join(", ")}`,
    );
  return names === undefined ? all : all.filter((each) => names.includes(nameOf(each)));
}
