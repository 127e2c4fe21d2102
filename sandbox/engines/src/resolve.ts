/** Finds or builds servers; the results are kept outside the tree, keyed by everything that shapes them. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { buildEngines, downloadModules, type EnginePlace, moduleFolder, requireGo } from "./build.ts";
import {
  buildGroups,
  type Engine,
  engineDefinition,
  type EngineName,
  type KubernetesVersion,
} from "./catalog.ts";
import { requireDiskSpace, roomFor } from "./disk.ts";
import { cacheFolder, EngineError } from "./environment.ts";
import { absentOf, makeWhole } from "./file-lock.ts";

/** Options of everything that is obtained. */
export interface ObtainOptions {
  /** Default: `KLUTCH_CACHE_DIR` or the user's cache folder. */
  readonly cacheFolder?: string | undefined;
  /** Receives one line for each step that takes time. Default: silent. */
  readonly progress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `resolveEngine`. */
export interface ResolveOptions extends ObtainOptions {
  /** Replaces go in tests. Default: `go` on PATH. */
  readonly goCommand?: string | undefined;
  /** Version of Kubernetes, whose servers alone can be asked for with it. Default: the first. */
  readonly kubernetes?: KubernetesVersion | undefined;
}

/** Milliseconds between the progress messages of a build. */
const progressEveryMs = 10_000;

/** Returns the path of the program, obtained if necessary. Safe to call from many processes at once. Throws `EngineError`. */
export async function resolveEngine(name: EngineName, options: ResolveOptions = {}): Promise<string> {
  return (await resolveEngines([name], options)).get(name) ?? "";
}

/** Resolves several. What this machine lacks for it is said before the first long step. */
export async function resolveEngines(
  names: readonly EngineName[],
  options: ResolveOptions = {},
): Promise<ReadonlyMap<EngineName, string>> {
  const cache = join(options.cacheFolder ?? cacheFolder, "engines");
  const places = await Promise.all(
    names.map(async (name): Promise<EnginePlace> => {
      const engine = engineDefinition(name, options.kubernetes);
      return { engine, folder: join(cache, name, await engineKey(engine)) };
    }),
  );
  const absent = await absentOf(places.map(({ folder }) => folder));
  const missing = places.filter(({ folder }) => absent.includes(folder));
  if (missing.length > 0) await obtainAll(missing, cache, options);
  return new Map(places.map(({ engine, folder }) => [engine.name, join(folder, engine.name)]));
}

/** Explains why this machine cannot obtain the program; undefined when it is here or can be built. */
export async function engineObstacle(
  name: EngineName,
  options: ResolveOptions = {},
): Promise<EngineError | undefined> {
  const engine = engineDefinition(name, options.kubernetes);
  try {
    const cache = join(options.cacheFolder ?? cacheFolder, "engines");
    const absent = await absentOf([join(cache, name, await engineKey(engine))]);
    if (absent.length > 0) await requireGo([engine], options.goCommand ?? "go", options.signal);
    return undefined;
  } catch (cause) {
    if (cause instanceof EngineError) return cause;
    // A released broker has no pins beside it.
    const missing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    if (missing)
      return new EngineError("GoMissing", `${name} cannot be built here: its pins are missing`, { cause });
    throw cause;
  }
}

/** One group after the other, because a compiler uses every core already; meanwhile the modules of the next one are downloaded. */
async function obtainAll(missing: readonly EnginePlace[], cache: string, options: ResolveOptions) {
  const engines = missing.map(({ engine }) => engine);
  const go = await requireGo(engines, options.goCommand ?? "go", options.signal);
  await requireDiskSpace(roomFor(engines, { ...go, programs: cache }));
  const groups = buildGroups(engines);
  const started = new Map<number, Promise<readonly string[]>>();
  const download = (index: number): Promise<readonly string[]> =>
    started.getOrInsertComputed(index, () => downloadModules(groups[index] ?? [], go));
  for (const [index, group] of groups.entries()) {
    const places = missing.filter(({ engine }) => group.includes(engine));
    await obtainGroup(places, cache, options, async (partials, say) => {
      say("downloading the modules …");
      const packages = await download(index);
      // A failure is reported to those who wait for it.
      download(index + 1).catch(() => undefined);
      let state = "building";
      using _meter = setInterval(() => say(`${state} …`), progressEveryMs);
      await buildEngines(partials, packages, go, (compiled, all) => {
        state = `building, ${compiled} of at most ${all} packages`;
      });
    });
  }
}

/** Makes the folders of one group by `build`. */
async function obtainGroup(
  places: readonly EnginePlace[],
  cache: string,
  { progress, signal }: ResolveOptions,
  build: (partials: readonly EnginePlace[], say: (text: string) => void) => Promise<void>,
): Promise<void> {
  const [first] = places;
  if (first === undefined) return;
  const { module, version } = first.engine;
  const title = `${places.map(({ engine }) => engine.name).join(", ")} ${version}`;
  const onWait = (): void => progress?.(`${title}: another process is obtaining it, waiting …`);
  const folders = places.map(({ folder }) => folder);
  await makeWhole(folders, { lock: join(cache, `${module}.mutex`), onWait, signal }, async (partialOf) => {
    const partials = places.flatMap(({ engine, folder }) => {
      const partial = partialOf.get(folder);
      return partial === undefined ? [] : [{ engine, folder: partial }];
    });
    const started = performance.now();
    const say = (text: string): void => {
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      progress?.(`${title}: ${text} (${seconds} s)`);
    };
    await build(partials, say);
    say("built");
  });
}

/** Changes whenever the program would: version, module pins, source of ours, linker settings, platform. */
async function engineKey(engine: Engine): Promise<string> {
  const hash = createHash("sha256");
  const folder = moduleFolder(engine);
  const files = (await readdir(folder)).toSorted();
  // A program without modules of others has no go.sum.
  const pins = files.filter((name) => /^go\.(?:mod|sum)$/.test(name));
  for (const file of [...pins, ...files.filter((name) => name.endsWith(".go"))])
    hash.update(await readFile(join(folder, file)));
  hash.update(JSON.stringify([engine, process.platform, process.arch]));
  return `${engine.version}-${hash.digest("hex").slice(0, 12)}`;
}
