/** Builds servers from their pinned Go modules, with the Go command of this machine. */
import { cp, mkdir, readFile, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Engine } from "./catalog.ts";
import { byNumbers, EngineError, inheritedEnvironment, run } from "./environment.ts";

/** Folder with a go.mod for each engine module. */
export const modulesFolder: string = join(import.meta.dirname, "..", "pins");

/** Returns the folder of the go.mod that pins the engine. */
export function moduleFolder(engine: Engine): string {
  return join(modulesFolder, engine.module);
}

/** A Go command that can build the engines. */
export interface GoInstallation {
  readonly command: string;
  /** Folder of compiled packages. */
  readonly buildCache: string;
  /** Folder of downloaded modules. */
  readonly moduleCache: string;
  /** Ends what it runs. */
  readonly signal: AbortSignal | undefined;
}

/** The compiler collects garbage less often: about a tenth less computing for about half as much memory again. */
const compilerGarbage = "400";

/** Throws `EngineError` GoMissing or GoTooOld before a build fails in a way that does not say so. */
export async function requireGo(
  engines: readonly Engine[],
  command: string,
  signal?: AbortSignal,
): Promise<GoInstallation> {
  const pins = await Promise.all(
    engines.map(async (engine) => {
      const text = await readFile(join(moduleFolder(engine), "go.mod"), "utf8");
      return { name: engine.name, go: /^go (\d+\.\d+)/m.exec(text)?.[1] ?? "" };
    }),
  );
  const [newest = { name: "", go: "" }] = pins.toSorted((left, right) =>
    byNumbers.compare(right.go, left.go),
  );
  const asked = await run(command, ["env", "GOVERSION", "GOCACHE", "GOMODCACHE"], {
    env: { ...inheritedEnvironment, GOTOOLCHAIN: "local" },
  }).catch((cause: unknown) => {
    throw new EngineError(
      "GoMissing",
      `${newest.name} has to be built, but Go does not run here. Install Go ${newest.go} or newer.`,
      { cause },
    );
  });
  const [version = "", buildCache = "", moduleCache = ""] = asked.stdout.trim().split("\n");
  // A development version does not begin so.
  if (version.startsWith("go") && byNumbers.compare(version, `go${newest.go}`) < 0)
    throw new EngineError(
      "GoTooOld",
      `${newest.name} needs Go ${newest.go} or newer to build; found ${version}. Update Go.`,
    );
  return { command, buildCache, moduleCache, signal };
}

/** A server, and the folder that holds the program under the server's name, and the extra folders of its module. */
export interface EnginePlace {
  readonly engine: Engine;
  readonly folder: string;
}

/**
 * Downloads what the engines of one module are made of and returns their packages. It mostly waits for the network, so it can run beside
 * another build.
 */
export function downloadModules(engines: readonly Engine[], go: GoInstallation): Promise<readonly string[]> {
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

function packagesOf(engines: readonly Engine[]): readonly string[] {
  return [...new Set(engines.map((engine) => engine.package))];
}

/**
 * Runs the Go command for engines of one module and returns its lines. `onNote` receives each line of its standard error, and returns true for those
 * that are no complaint. Throws `EngineError` BuildFailed with the end of what it complained about.
 */
async function runInModule(
  engines: readonly Engine[],
  go: GoInstallation,
  args: readonly string[],
  onNote?: (line: string) => boolean,
): Promise<readonly string[]> {
  const [first] = engines;
  if (first === undefined) return [];
  const running = run(go.command, args, {
    cwd: moduleFolder(first),
    env: { GOGC: compilerGarbage, ...inheritedEnvironment, CGO_ENABLED: "0" },
    signal: go.signal,
    maxBuffer: 64 * 1024 * 1024,
  });
  const complaints: string[] = [];
  if (running.child.stderr !== null)
    createInterface({ input: running.child.stderr }).on("line", (line) => {
      if (onNote?.(line) !== true) complaints.push(line);
    });
  const { stdout } = await running.catch((cause: unknown) => {
    go.signal?.throwIfAborted();
    const names = engines.map(({ name }) => name).join(", ");
    throw new EngineError(
      "BuildFailed",
      `building ${names} ${first.version} failed; it needs the Go module proxy or a filled module cache:\n` +
        (complaints.slice(-20).join("\n") || `go ${args[0]} failed: ${String(cause)}`),
      { cause },
    );
  });
  return stdout.trim().split("\n");
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
