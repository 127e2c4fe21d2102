/** The layer with one program, and the licences of what went into it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Layer, layerOf } from "@klutch/oci";
import { bundleApp } from "../build/bundle.ts";
import { repositoryRoot } from "../root.ts";
import { entriesOf, type FileEntry } from "./files.ts";
import { type LockedPackage, lockedPackages, packageFolders } from "./lock-file.ts";

/** A layer with a program, and what is bundled in it. */
export interface AppLayer {
  readonly layer: Layer;
  /** Path of the program in the image. */
  readonly program: string;
  readonly packages: readonly LockedPackage[];
}

/** A program that is not in any layer yet. */
export interface ProgramFiles {
  readonly program: Uint8Array;
  /** Our licence, and those of what is bundled. */
  readonly licences: readonly FileEntry[];
  readonly packages: readonly LockedPackage[];
}

/** Bundles the app in `folder`. */
export async function buildAppLayer(app: string, folder: string): Promise<AppLayer> {
  const { program, licences, packages } = await buildProgramFiles(app, folder);
  const path = `app/${app}.mjs`;
  const files = [
    { path, content: program },
    ...licences.map((file) => ({ ...file, path: `app/${file.path}` })),
  ];
  return { layer: layerOf(entriesOf(files)), program: path, packages };
}

/** Bundles the app in `folder`, and collects the licences. */
export async function buildProgramFiles(app: string, folder: string): Promise<ProgramFiles> {
  const bundle = join(folder, `${app}.mjs`);
  const inputs = await bundleApp(app, bundle);
  const packages = await lockedPackages(packageFolders(inputs));
  const licences = [
    { path: "LICENSE", content: await readFile(join(repositoryRoot, "LICENSE")) },
    { path: "THIRD-PARTY-LICENSES", content: Buffer.from(await licencesOf(packages)) },
  ];
  return { program: await readFile(bundle), licences, packages };
}

/** The texts that the packages' licences ask to be handed on. */
async function licencesOf(packages: readonly LockedPackage[]): Promise<string> {
  const texts = packages.map(async ({ name, folder, version, license }) => {
    const path = join(repositoryRoot, folder);
    const file = (await readdir(path)).toSorted().find((entry) => /^licen[cs]e/i.test(entry));
    const text =
      file === undefined ? `Licence: ${license ?? "none stated"}` : await readFile(join(path, file), "utf8");
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
