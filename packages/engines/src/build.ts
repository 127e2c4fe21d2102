/** Builds a server from its pinned Go modules. */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { EngineDefinition } from "./catalog.ts";
import { inheritedEnvironment } from "./environment.ts";
import { EngineError } from "./errors.ts";

const run = promisify(execFile);

/** Folder with a go.mod for each engine module. */
export const modulesFolder: string = join(import.meta.dirname, "..", "..", "..", "engines");

/** Builds into `folder`: the program under the engine's name, and the extra folders of its module. */
export async function buildEngine(
  engine: EngineDefinition,
  folder: string,
  options: { readonly signal?: AbortSignal | undefined; readonly goCommand?: string | undefined } = {},
): Promise<void> {
  const cwd = join(modulesFolder, engine.module);
  const go = options.goCommand ?? "go";
  await requireGo(engine, go, cwd);
  const linker = ["-s", "-w", ...engine.linkerSettings.flatMap((setting) => ["-X", setting])].join(" ");
  const args = [
    "build",
    "-trimpath",
    "-buildvcs=false",
    "-ldflags",
    linker,
    "-o",
    join(folder, engine.name),
    engine.package,
  ];
  const env = { ...inheritedEnvironment, CGO_ENABLED: "0" };
  const context = {
    cwd,
    env,
    maxBuffer: 64 * 1024 * 1024,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  };
  try {
    await run(go, args, context);
    await copyExtraFolders(engine, folder, go, context);
  } catch (cause) {
    throw new EngineError(
      "BuildFailed",
      `building ${engine.name} ${engine.version} failed; it needs the Go module proxy or a filled module cache, and about 6 GB of disk:\n` +
        endOf(cause),
      { cause },
    );
  }
}

async function copyExtraFolders(
  engine: EngineDefinition,
  folder: string,
  go: string,
  context: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  if (engine.extraFolders === undefined) return;
  const { stdout } = await run(go, ["list", "-m", "-f", "{{.Dir}}", engine.extraFolders.goModule], context);
  for (const name of engine.extraFolders.folders) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    // The module cache is read-only; the copy must be removable.
    await cp(join(stdout.trim(), name), join(folder, name), { recursive: true, mode: 0 });
  }
}

/** Checks that Go is there and new enough for the module, before it fails in a way nobody understands. */
async function requireGo(engine: EngineDefinition, go: string, cwd: string): Promise<void> {
  const wanted = /^go (\d+)\.(\d+)/m.exec(await readFile(join(cwd, "go.mod"), "utf8"));
  let version: string;
  try {
    version = (
      await run(go, ["env", "GOVERSION"], { cwd, env: { ...inheritedEnvironment, GOTOOLCHAIN: "local" } })
    ).stdout.trim();
  } catch (cause) {
    throw new EngineError(
      "GoMissing",
      `${engine.name} has to be built, but Go does not run here. Install Go ${wanted?.[1]}.${wanted?.[2]} or newer.`,
      { cause },
    );
  }
  const found = /^go(\d+)\.(\d+)/.exec(version);
  if (found === null || wanted === null) return;
  const number = (match: RegExpExecArray): number => Number(match[1]) * 1000 + Number(match[2]);
  if (number(found) < number(wanted)) {
    throw new EngineError(
      "GoTooOld",
      `${engine.name} needs Go ${wanted[1]}.${wanted[2]} or newer to build; found ${version}. Update Go.`,
    );
  }
}

function endOf(error: unknown): string {
  const text =
    error instanceof Error && "stderr" in error && typeof error.stderr === "string"
      ? error.stderr
      : String(error);
  return text.trim().split("\n").slice(-20).join("\n");
}
