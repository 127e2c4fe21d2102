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
import { writeChecksums } from "./checksums.ts";
import { buildExecutables } from "./executables.ts";
import { writeKrewManifest } from "./krew.ts";
import { buildNpmPackages } from "./npm-packages.ts";
import { readReleaseOptions } from "./options.ts";
import { buildRelease } from "./release.ts";

try {
  const options = readReleaseOptions((line) => console.log(line));
  if (options.definitions.length > 0) await buildRelease(options);
  if (options.platforms.length > 0) await buildExecutables(options);
  if (options.isWhole) {
    await buildNpmPackages(options);
    await writeKrewManifest(options.out);
  }
  // Checksums come last, because they cover all other files.
  await writeChecksums(options.out);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
