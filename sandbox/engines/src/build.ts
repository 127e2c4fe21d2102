/** Builds servers from their pinned Go modules. */
import { cp, mkdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { EngineDefinition } from "./catalog.ts";
import { EngineError } from "./errors.ts";
import { type GoInstallation, runGo } from "./go.ts";

/** A server to build, and where. */
export interface BuildTarget {
  readonly engine: EngineDefinition;
  /** Receives the program under the engine's name, and the extra folders of its module. */
  readonly folder: string;
}

/** Options of a build. */
export interface BuildOptions {
  readonly go: GoInstallation;
  readonly signal?: AbortSignal | undefined;
  /** Called for each package that the compiler takes up, and how many there are at most. */
  readonly onPackage?: ((compiled: number, all: number) => void) | undefined;
}

/**
 * Downloads what the engines are made of and gives back their packages. All engines of one module; most of a build's time on the
 * network, so it can run beside another build.
 */
export async function downloadModules(
  engines: readonly EngineDefinition[],
  { go, signal }: BuildOptions,
): Promise<readonly string[]> {
  const [first] = engines;
  if (first === undefined) return [];
  return explained(engines, () =>
    runGo(go, first, ["list", "-deps", "-f", "{{.ImportPath}}", ...packagesOf(engines)], { signal }),
  );
}

/** Builds engines of one group with one call of the compiler, so that it can link one while it compiles the next. */
export async function buildEngines(
  targets: readonly BuildTarget[],
  packages: readonly string[],
  { go, signal, onPackage }: BuildOptions,
): Promise<void> {
  const [first] = targets;
  if (first === undefined) return;
  const engines = targets.map(({ engine }) => engine);
  const linker = ["-s", "-w", ...first.engine.linkerSettings.flatMap((setting) => ["-X", setting])];
  const output = targets.length === 1 ? join(first.folder, first.engine.name) : `${first.folder}/`;
  const known = new Set(packages);
  let compiled = 0;
  const onNote = (line: string): boolean => {
    if (line.startsWith("go: downloading ")) return true;
    if (!known.has(line)) return false;
    onPackage?.(++compiled, known.size);
    return true;
  };
  // The linker drops the debugging information, so the compiler need not make it: a twentieth of its time, a fifth of its cache.
  const compiler = "-gcflags=all=-dwarf=false";
  const flags = ["-v", "-trimpath", "-buildvcs=false", compiler, "-ldflags", linker.join(" "), "-o", output];
  await explained(engines, async () => {
    await runGo(go, first.engine, ["build", ...flags, ...packagesOf(engines)], { signal, onNote });
    // Several programs at once are named after their packages and lie in one folder.
    if (targets.length > 1)
      for (const { engine, folder } of targets)
        await rename(join(first.folder, basename(engine.package)), join(folder, engine.name));
    for (const target of targets) await copyExtraFolders(target, go, signal);
  });
}

function packagesOf(engines: readonly EngineDefinition[]): readonly string[] {
  return [...new Set(engines.map((engine) => engine.package))];
}

async function explained<T>(engines: readonly EngineDefinition[], build: () => Promise<T>): Promise<T> {
  try {
    return await build();
  } catch (cause) {
    const [first] = engines;
    throw new EngineError(
      "BuildFailed",
      `building ${engines.map(({ name }) => name).join(", ")} ${first?.version} failed; it needs the Go module proxy or a filled module cache:\n` +
        (cause instanceof Error ? cause.message : String(cause)),
      { cause },
    );
  }
}

async function copyExtraFolders(
  { engine, folder }: BuildTarget,
  go: GoInstallation,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (engine.extraFolders === undefined) return;
  const { goModule, folders } = engine.extraFolders;
  const [source = ""] = await runGo(go, engine, ["list", "-m", "-f", "{{.Dir}}", goModule], { signal });
  for (const name of folders) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    // The module cache is read-only; the copy must be removable.
    await cp(join(source, name), join(folder, name), { recursive: true, mode: 0 });
  }
}
