/** Builds servers from their pinned Go modules. */
import { cp, mkdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { EngineDefinition } from "./catalog.ts";
import { EngineError } from "./errors.ts";
import { type GoInstallation, runGo } from "./go.ts";

/** A server, and the folder that holds the program under the server's name, and the extra folders of its module. */
export interface EnginePlace {
  readonly engine: EngineDefinition;
  readonly folder: string;
}

/**
 * Downloads what the engines of one module are made of and returns their packages. It mostly waits for the network, so it can run beside
 * another build.
 */
export function downloadModules(
  engines: readonly EngineDefinition[],
  go: GoInstallation,
): Promise<readonly string[]> {
  return runInModule(engines, go, ["list", "-deps", "-f", "{{.ImportPath}}", ...packagesOf(engines)]);
}

/**
 * Builds engines of one group with one call of the compiler, so that it can link one while it compiles the next. Calls `onPackage` for
 * each of the packages that the compiler takes up.
 */
export async function buildEngines(
  places: readonly EnginePlace[],
  packages: readonly string[],
  go: GoInstallation,
  onPackage: (compiled: number, all: number) => void,
): Promise<void> {
  const [first] = places;
  if (first === undefined) return;
  const engines = places.map(({ engine }) => engine);
  const linker = ["-s", "-w", ...first.engine.linkerSettings.flatMap((setting) => ["-X", setting])];
  const output = places.length === 1 ? join(first.folder, first.engine.name) : `${first.folder}/`;
  const known = new Set(packages);
  let compiled = 0;
  const onNote = (line: string): boolean => {
    if (line.startsWith("go: downloading ")) return true;
    if (!known.has(line)) return false;
    onPackage(++compiled, known.size);
    return true;
  };
  // The linker drops the debugging information, so the compiler need not make it: a twentieth of its time, a fifth of its cache.
  const compiler = "-gcflags=all=-dwarf=false";
  const flags = ["-v", "-trimpath", "-buildvcs=false", compiler, "-ldflags", linker.join(" "), "-o", output];
  await runInModule(engines, go, ["build", ...flags, ...packagesOf(engines)], onNote);
  // Several programs at once are named after their packages and lie in one folder.
  if (places.length > 1)
    for (const { engine, folder } of places)
      await rename(join(first.folder, basename(engine.package)), join(folder, engine.name));
  for (const place of places) await copyExtraFolders(place, go);
}

function packagesOf(engines: readonly EngineDefinition[]): readonly string[] {
  return [...new Set(engines.map((engine) => engine.package))];
}

/** Runs the Go command for engines of one module. Throws `EngineError` BuildFailed with its words. */
async function runInModule(
  engines: readonly EngineDefinition[],
  go: GoInstallation,
  args: readonly string[],
  onNote?: (line: string) => boolean,
): Promise<readonly string[]> {
  const [first] = engines;
  if (first === undefined) return [];
  try {
    return await runGo(go, first, args, onNote);
  } catch (cause) {
    throw new EngineError(
      "BuildFailed",
      `building ${engines.map(({ name }) => name).join(", ")} ${first.version} failed; it needs the Go module proxy or a filled module cache:\n` +
        (cause instanceof Error ? cause.message : String(cause)),
      { cause },
    );
  }
}

async function copyExtraFolders({ engine, folder }: EnginePlace, go: GoInstallation): Promise<void> {
  if (engine.extraFolders === undefined) return;
  const { goModule, folders } = engine.extraFolders;
  const [source = ""] = await runInModule([engine], go, ["list", "-m", "-f", "{{.Dir}}", goModule]);
  for (const name of folders) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    // The module cache is read-only; the copy must be removable.
    await cp(join(source, name), join(folder, name), { recursive: true, mode: 0 });
  }
}
