/** The part of the release that people download as files, and the checksums of all of it. */
import { writeChecksums } from "./checksums.ts";
import { buildExecutables, type ExecutablesOptions } from "./executables.ts";
import { writeKrewManifest } from "./krew.ts";
import { buildNpmPackages } from "./npm-packages.ts";

/** Builds and writes it; called last, because the checksums are of everything that is there. */
export async function buildDownloads(options: ExecutablesOptions): Promise<void> {
  await buildExecutables(options);
  await buildNpmPackages(options);
  await writeKrewManifest(options.out);
  await writeChecksums(options.out);
}
