/** Finds, fetches or builds a server; the result is kept outside the tree, keyed by everything that shapes it. */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { buildEngine, modulesFolder } from "./build.ts";
import { type EngineDefinition, engineDefinition, type EngineName } from "./catalog.ts";
import { cacheFolder, mirrorUrl } from "./environment.ts";
import { acquireFileLock } from "./file-lock.ts";
import { exists } from "./paths.ts";
import { fetchPrebuilt, pinnedChecksums } from "./prebuilt.ts";

/** Options of `resolveEngine`. */
export interface ResolveOptions {
  /** Default: `KLUTCH_CACHE_DIR` or the user's cache folder. */
  readonly cacheFolder?: string | undefined;
  /** Receives one line for each step that takes time. Default: silent. */
  readonly progress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For tests. Default: `go` on PATH. */
  readonly goCommand?: string | undefined;
  /** Base URL of a mirror of prebuilt servers. Default: `KLUTCH_ENGINES_URL`, or none. */
  readonly mirrorUrl?: string | undefined;
  /** For tests: hex SHA-256 by file name. Default: `engines/prebuilt.json`. */
  readonly checksums?: ReadonlyMap<string, string> | undefined;
}

/** How often a build says that it is still running. */
const heartbeatMs = 30_000;

/** Path of the program, obtained if necessary. Safe to call from many processes at once. Throws `EngineError`. */
export async function resolveEngine(name: EngineName, options: ResolveOptions = {}): Promise<string> {
  const engine = engineDefinition(name);
  const target = join(options.cacheFolder ?? cacheFolder, "engines", name, await engineKey(engine));
  const program = join(target, name);
  if (await exists(program)) return program;
  await using _lock = await acquireFileLock(`${target}.mutex`, {
    signal: options.signal,
    onWait: () => options.progress?.(`${name}: another process is obtaining it, waiting …`),
  });
  if (!(await exists(program))) await obtain(engine, target, options);
  return program;
}

/** Resolves several one after the other: a compiler uses every core already. */
export async function resolveEngines(
  names: readonly EngineName[],
  options: ResolveOptions = {},
): Promise<ReadonlyMap<EngineName, string>> {
  const paths = new Map<EngineName, string>();
  for (const name of names) paths.set(name, await resolveEngine(name, options));
  return paths;
}

async function obtain(engine: EngineDefinition, target: string, options: ResolveOptions): Promise<void> {
  const started = performance.now();
  const seconds = (): string => `${((performance.now() - started) / 1000).toFixed(0)} s`;
  const say = (text: string): void => options.progress?.(`${engine.name} ${engine.version}: ${text}`);
  await removePartials(target);
  const folder = await mkdtemp(`${target}${partialSuffix}`);
  try {
    const { signal, goCommand } = options;
    const mirror = {
      mirrorUrl: options.mirrorUrl ?? mirrorUrl,
      checksums: options.checksums ?? (await pinnedChecksums()),
    };
    if (await fetchPrebuilt(engine, folder, { ...mirror, signal })) {
      say("fetched from the mirror");
    } else {
      say("building from its Go modules …");
      using _heartbeat = every(heartbeatMs, () => say(`still building after ${seconds()} …`));
      await buildEngine(engine, folder, { signal, goCommand });
      say(`built in ${seconds()}`);
    }
    // A rename is atomic: either the whole folder is there or nothing is.
    await rename(folder, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const partialSuffix = ".partial-";

/** What a process left that was killed while it worked; we hold the lock, so nobody works on it now. */
async function removePartials(target: string): Promise<void> {
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    if (name.startsWith(`${basename(target)}${partialSuffix}`))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

function every(milliseconds: number, run: () => void): Disposable {
  const timer = setInterval(run, milliseconds);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Changes whenever the program would: version, module pins, linker settings, platform. */
async function engineKey(engine: EngineDefinition): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"])
    hash.update(await readFile(join(modulesFolder, engine.module, file)));
  hash.update(JSON.stringify([engine, process.platform, process.arch]));
  return `${engine.version}-${hash.digest("hex").slice(0, 12)}`;
}
