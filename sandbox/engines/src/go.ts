/** The Go command: which one is here, and running it. */
import { execFile, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { EngineDefinition } from "./catalog.ts";
import { inheritedEnvironment } from "./environment.ts";
import { EngineError } from "./errors.ts";

const run = promisify(execFile);

/** Folder with a go.mod for each engine module. */
export const modulesFolder: string = join(import.meta.dirname, "..", "pins");

/** Folder of the go.mod that pins the engine. */
export function moduleFolder(engine: EngineDefinition): string {
  return join(modulesFolder, engine.module);
}

/** What the Go command says of itself. */
export interface GoInstallation {
  readonly command: string;
  /** Such as `go1.26.8`. */
  readonly version: string;
  /** Where compiled packages are kept. */
  readonly buildCache: string;
  /** Where downloaded modules are kept. */
  readonly moduleCache: string;
}

/** Throws `EngineError` GoMissing or GoTooOld, before a build fails in a way that nobody understands. */
export async function requireGo(
  engines: readonly EngineDefinition[],
  command: string,
): Promise<GoInstallation> {
  const pins = await Promise.all(engines.map(async (engine) => ({ engine, wanted: await pinnedGo(engine) })));
  const [first] = pins;
  const go = await askGo(command, first);
  const found = versionOf(go.version);
  const tooNew = pins.find(({ wanted }) => found !== undefined && found < wanted.number);
  if (tooNew !== undefined) {
    throw new EngineError(
      "GoTooOld",
      `${tooNew.engine.name} needs Go ${tooNew.wanted.text} or newer to build; found ${go.version}. Update Go.`,
    );
  }
  return go;
}

interface PinnedGo {
  readonly text: string;
  readonly number: number;
}

async function pinnedGo(engine: EngineDefinition): Promise<PinnedGo> {
  const text = await readFile(join(moduleFolder(engine), "go.mod"), "utf8");
  const match = /^go (\d+\.\d+)/m.exec(text)?.[1] ?? "";
  return { text: match, number: versionOf(`go${match}`) ?? 0 };
}

/** `go1.26.8` as 1026; undefined for a development version. */
function versionOf(text: string): number | undefined {
  const match = /^go(\d+)\.(\d+)/.exec(text);
  return match === null ? undefined : Number(match[1]) * 1000 + Number(match[2]);
}

async function askGo(
  command: string,
  first: { readonly engine: EngineDefinition; readonly wanted: PinnedGo } | undefined,
): Promise<GoInstallation> {
  try {
    const { stdout } = await run(command, ["env", "GOVERSION", "GOCACHE", "GOMODCACHE"], {
      env: { ...inheritedEnvironment, GOTOOLCHAIN: "local" },
    });
    const [version = "", buildCache = "", moduleCache = ""] = stdout.trim().split("\n");
    return { command, version, buildCache, moduleCache };
  } catch (cause) {
    throw new EngineError(
      "GoMissing",
      `${first?.engine.name} has to be built, but Go does not run here. Install Go ${first?.wanted.text} or newer.`,
      { cause },
    );
  }
}

/** Runs the command in the engine's module and gives back its lines. Throws an Error with the end of what it complained about. */
export async function runGo(
  go: GoInstallation,
  engine: EngineDefinition,
  args: readonly string[],
  options: {
    readonly signal?: AbortSignal | undefined;
    /** Receives each line of its standard error; lines for which it returns true are no complaint. */
    readonly onNote?: ((line: string) => boolean) | undefined;
  } = {},
): Promise<readonly string[]> {
  const child = spawn(go.command, args, {
    cwd: moduleFolder(engine),
    env: { ...inheritedEnvironment, CGO_ENABLED: "0" },
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const lines: string[] = [];
  const complaints: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (options.onNote?.(line) !== true) complaints.push(line);
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on("error", reject);
  child.on("close", resolve);
  const code = await promise;
  if (code !== 0) throw new Error(complaints.slice(-20).join("\n") || `go ${args[0]} ended with ${code}`);
  return lines;
}
