/** Builds the layer with one program, and the licences of what went into it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { buildConsole } from "@klutch/console";
import { bundleApp } from "../build/bundle.ts";
import { repositoryRoot } from "../root.ts";
import { buildLayer, type BuiltLayer, type FileEntry, filesIn } from "./files.ts";
import { type LockedPackage, lockedPackages, packageFolders } from "./lock-file.ts";

/** A program that is not in any layer yet. */
export interface ProgramFiles {
  readonly program: Uint8Array;
  /** Our licence, and those of the bundled packages. */
  readonly licences: readonly FileEntry[];
  readonly packages: readonly LockedPackage[];
}

/** Returns the path of an app's program in an image. */
export function programPath(app: string): string {
  return `app/${app}.mjs`;
}

/** Bundles the app in `folder`. */
export async function buildAppLayer(app: string, folder: string): Promise<BuiltLayer> {
  const { program, licences, packages } = await buildProgramFiles(app, folder);
  const below = licences.map((file) => ({ ...file, path: `app/${file.path}` }));
  return buildLayer([{ path: programPath(app), content: program }, ...below], { npm: packages });
}

/** Builds the pages of the console in `folder`: the layer with them at `/console`, which `--console-assets` of the backend names. */
export async function buildConsoleLayer(folder: string): Promise<BuiltLayer> {
  const pages = join(folder, "console");
  const packages = await lockedPackages(packageFolders(await buildConsole(pages)));
  const files = (await filesIn(pages)).map(async (path) => ({
    path: `console/${path}`,
    content: await readFile(join(pages, path)),
  }));
  const licences = { path: "app/CONSOLE-LICENSES", content: Buffer.from(await licencesOf(packages)) };
  return buildLayer([...(await Promise.all(files)), licences], { npm: packages });
}

/** Bundles the app in `folder`, and collects the licences. */
export async function buildProgramFiles(app: string, folder: string): Promise<ProgramFiles> {
  const bundle = join(folder, `${app}.mjs`);
  const packages = await lockedPackages(packageFolders(await bundleApp(app, bundle)));
  const licences = [
    { path: "LICENSE", content: await readFile(join(repositoryRoot, "LICENSE")) },
    { path: "THIRD-PARTY-LICENSES", content: Buffer.from(await licencesOf(packages)) },
  ];
  return { program: await readFile(bundle), licences, packages };
}

/** Returns the texts that the packages' licences ask to be handed on. */
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
