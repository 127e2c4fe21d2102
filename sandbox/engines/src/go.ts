/** The Go command: which one is here, and running it. */
import { execFile } from "node:child_process";
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

/** Returns the folder of the go.mod that pins the engine. */
export function moduleFolder(engine: EngineDefinition): string {
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

const byNumbers = new Intl.Collator("en", { numeric: true });

/** Throws `EngineError` GoMissing or GoTooOld before a build fails in a way that does not say so. */
export async function requireGo(
  engines: readonly EngineDefinition[],
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

/**
 * Runs the command in the engine's module and returns its lines. `onNote` receives each line of its standard error, and returns true for
 * those that are no complaint. Throws an Error with the end of what it complained about.
 */
export async function runGo(
  go: GoInstallation,
  engine: EngineDefinition,
  args: readonly string[],
  onNote?: (line: string) => boolean,
): Promise<readonly string[]> {
  const running = run(go.command, args, {
    cwd: moduleFolder(engine),
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
    throw new Error(complaints.slice(-20).join("\n") || `go ${args[0]} failed: ${String(cause)}`, { cause });
  });
  return stdout.trim().split("\n");
}

/** The compiler collects garbage less often: about a tenth less computing for about half as much memory again. */
const compilerGarbage = "400";
