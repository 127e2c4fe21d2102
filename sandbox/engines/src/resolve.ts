/** Finds, fetches or builds servers; the results are kept outside the tree, keyed by everything that shapes them. */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { buildEngines, type BuildTarget, downloadModules } from "./build.ts";
import { buildGroups, type EngineDefinition, engineDefinition, type EngineName } from "./catalog.ts";
import { requireDiskSpace } from "./disk.ts";
import { roomFor } from "./room.ts";
import { cacheFolder, mirrorUrl } from "./environment.ts";
import { acquireFileLock } from "./file-lock.ts";
import { type GoInstallation, moduleFolder, requireGo } from "./go.ts";
import { exists } from "./paths.ts";
import { fetchPrebuilt, pinnedArchives, type PinnedArchive } from "./prebuilt.ts";

/** Options of `resolveEngine`. */
export interface ResolveOptions {
  /** Default: `KLUTCH_CACHE_DIR` or the user's cache folder. */
  readonly cacheFolder?: string | undefined;
  /** Receives one line for each step that takes time. Default: silent. */
  readonly progress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For tests. Default: `go` on PATH. */
  readonly goCommand?: string | undefined;
  /** Base URL of prebuilt servers, or `off`. Default: `KLUTCH_ENGINES_URL`, else where their project publishes them. */
  readonly mirrorUrl?: string | undefined;
  /** For tests. Default: those of `sandbox/engines/pins/prebuilt.json`. */
  readonly archives?: ReadonlyMap<string, PinnedArchive> | undefined;
}

/** How often a build says how far it is. */
const progressEveryMs = 10_000;

/** Path of the program, obtained if necessary. Safe to call from many processes at once. Throws `EngineError`. */
export async function resolveEngine(name: EngineName, options: ResolveOptions = {}): Promise<string> {
  return (await resolveEngines([name], options)).get(name) ?? "";
}

/**
 * Resolves several. What this machine lacks for it is said before the first long step. One group after the other is built, because a
 * compiler uses every core already, while the modules of the next one are downloaded.
 */
export async function resolveEngines(
  names: readonly EngineName[],
  options: ResolveOptions = {},
): Promise<ReadonlyMap<EngineName, string>> {
  const wanted = await Promise.all(names.map((name) => placeOf(engineDefinition(name), options)));
  const missing = await absentOf(wanted);
  if (missing.length > 0) await obtainAll(missing, options);
  return new Map(wanted.map(({ engine, target }) => [engine.name, join(target, engine.name)]));
}

interface Place {
  readonly engine: EngineDefinition;
  readonly target: string;
}

async function placeOf(engine: EngineDefinition, options: ResolveOptions): Promise<Place> {
  const folder = join(options.cacheFolder ?? cacheFolder, "engines", engine.name);
  return { engine, target: join(folder, await engineKey(engine)) };
}

async function absentOf(places: readonly Place[]): Promise<readonly Place[]> {
  const present = await Promise.all(places.map(({ engine, target }) => exists(join(target, engine.name))));
  return places.filter((_, index) => present[index] !== true);
}

async function obtainAll(missing: readonly Place[], options: ResolveOptions): Promise<void> {
  const groups = buildGroups(missing.map(({ engine }) => engine)).map((engines) =>
    missing.filter(({ engine }) => engines.includes(engine)),
  );
  const goOptions = await checkMachine(missing, options);
  const archives = options.archives ?? (await pinnedArchives());
  const downloads = new Map<number, Promise<readonly string[]>>();
  const packagesOf = (index: number): Promise<readonly string[]> => {
    const engines = (groups[index] ?? []).map(({ engine }) => engine);
    const packages = downloads.get(index) ?? downloadModules(engines, goOptions);
    // A failure is reported where the group is built.
    packages.catch(() => undefined);
    downloads.set(index, packages);
    return packages;
  };
  for (const [index, group] of groups.entries()) {
    await obtainGroup(group, { ...options, archives }, async (targets, say, started) => {
      say("downloading the modules …");
      const packages = await packagesOf(index);
      void packagesOf(index + 1);
      using meter = new Meter(say, started);
      await buildEngines(targets, packages, { ...goOptions, onPackage: meter.count });
    });
  }
}

/** What can be known before a build of minutes is known before it. */
async function checkMachine(
  missing: readonly Place[],
  options: ResolveOptions,
): Promise<{ readonly go: GoInstallation; readonly signal: AbortSignal | undefined }> {
  const engines = missing.map(({ engine }) => engine);
  const go = await requireGo(engines, options.goCommand ?? "go");
  await requireDiskSpace(
    roomFor(engines, {
      buildCache: go.buildCache,
      moduleCache: go.moduleCache,
      programs: options.cacheFolder ?? cacheFolder,
    }),
  );
  return { go, signal: options.signal };
}

async function obtainGroup(
  group: readonly Place[],
  options: ResolveOptions,
  build: (targets: readonly BuildTarget[], say: (text: string) => void, started: number) => Promise<void>,
): Promise<void> {
  const { progress, signal } = options;
  await using locks = new AsyncDisposableStack();
  // Everybody takes them in the order of the catalog, so nobody waits in a circle.
  for (const { engine, target } of group) {
    const onWait = (): void => progress?.(`${engine.name}: another process is obtaining it, waiting …`);
    locks.use(await acquireFileLock(`${target}.mutex`, { signal, onWait }));
  }
  const absent = await absentOf(group);
  if (absent.length === 0) return;
  const names = absent.map(({ engine }) => engine.name).join(", ");
  const say = (text: string): void => progress?.(`${names} ${absent[0]?.engine.version}: ${text}`);
  await using partials = new AsyncDisposableStack();
  const targets = [];
  for (const { engine, target } of absent) {
    await removePartials(target);
    const folder = await mkdtemp(`${target}${partialSuffix}`);
    partials.defer(() => rm(folder, { recursive: true, force: true }));
    targets.push({ engine, target, folder });
  }
  const started = performance.now();
  const archive = options.archives?.get(absent[0]?.engine.module ?? "");
  if (await fetchPrebuilt(targets, { archive, mirrorUrl: options.mirrorUrl ?? mirrorUrl, say, signal })) {
    say(`fetched in ${secondsSince(started)}`);
  } else {
    await build(targets, say, started);
    say(`built in ${secondsSince(started)}`);
  }
  // A rename is atomic: either the whole folder is there or nothing is.
  for (const { folder, target } of targets) await rename(folder, target);
}

/** Says now and then how far a build is. */
class Meter implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #state = "";

  constructor(say: (text: string) => void, started: number) {
    this.#timer = setInterval(
      () => say(`building, ${this.#state}${secondsSince(started)} …`),
      progressEveryMs,
    );
  }

  readonly count = (compiled: number, all: number): void => {
    this.#state = `${compiled} of at most ${all} packages, `;
  };

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function secondsSince(started: number): string {
  return `${((performance.now() - started) / 1000).toFixed(0)} s`;
}

const partialSuffix = ".partial-";

/** What a process left that was killed while it worked; we hold the lock, so nobody works on it now. */
async function removePartials(target: string): Promise<void> {
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    if (name.startsWith(`${basename(target)}${partialSuffix}`) || name.startsWith(".download.partial-"))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Changes whenever the program would: version, module pins, source of ours, linker settings, platform. */
async function engineKey(engine: EngineDefinition): Promise<string> {
  const hash = createHash("sha256");
  const folder = moduleFolder(engine);
  const files = (await readdir(folder)).toSorted();
  // A program without modules of others has no go.sum.
  const shaping = [...files.filter((name) => /^go\.(?:mod|sum)$/.test(name)), ...files.filter(isSource)];
  for (const file of shaping) hash.update(await readFile(join(folder, file)));
  hash.update(JSON.stringify([engine, process.platform, process.arch]));
  return `${engine.version}-${hash.digest("hex").slice(0, 12)}`;
}

function isSource(name: string): boolean {
  return name.endsWith(".go");
}
