/** moto, an emulator of AWS that others wrote, from PyPI. Needs Python. It serves S3 and STS on one port, in memory, and checks no credentials. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheFolder, EngineError, run, textOf, wordsOf } from "./environment.ts";
import { makeWhole } from "./file-lock.ts";
import { reservePorts } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import type { ObtainOptions } from "./resolve.ts";

/** Versions that an installed moto may have; `pins/moto/requirements.txt` has the one that is fetched. */
const usableVersion = /^5\.\d+\.\d+$/;
const requirements = join(import.meta.dirname, "..", "pins", "moto", "requirements.txt");

/** Options of `resolveMoto`. */
interface MotoOptions extends ObtainOptions {
  /** Replaces Python in tests. Default: `python3` on PATH. */
  readonly python?: string | undefined;
}

/** A running emulator. */
export interface MotoServer extends AsyncDisposable {
  /** URL of every service of its AWS, without a slash at the end. */
  readonly url: string;
  readonly process: RunningProcess;
}

/** Returns a Python that has an installed moto, else one with the pinned moto, fetched once into the cache. Throws `EngineError`. */
export async function resolveMoto({ python = "python3", ...options }: MotoOptions = {}): Promise<string> {
  if (await hasMoto(python)) return python;
  const key = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex")
    .slice(0, 12);
  const target = join(options.cacheFolder ?? cacheFolder, "moto", key);
  await makeWhole([target], { ...options, lock: `${target}.mutex` }, async (partials) => {
    const [partial = ""] = partials.values();
    options.progress?.("moto: fetching it from PyPI (a minute or two) …");
    await step("Python 3.10 or newer with venv", python, ["-m", "venv", "--copies", partial]);
    const flags = ["--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"];
    const pip = ["-m", "pip", "install", ...flags, "--requirement", requirements];
    await step("PyPI", join(partial, "bin", "python"), pip);
  });
  return join(target, "bin", "python");
}

/** Starts one on a free port of loopback, with its log in the folder. What it holds is gone when it ends. */
export async function startMoto(folder: string): Promise<MotoServer> {
  const python = await resolveMoto();
  await using stack = new AsyncDisposableStack();
  const [port] = stack.use(await reservePorts(1)).ports;
  const url = `http://127.0.0.1:${port}`;
  const server = stack.use(
    await startProcess({
      name: "moto",
      command: python,
      args: ["-m", "moto.server", "--host=127.0.0.1", `--port=${port}`],
      logFile: join(folder, "moto.log"),
      ready: async () => (await fetch(`${url}/moto-api/`)).ok,
    }),
  );
  return Object.assign(stack.move(), { url, process: server });
}

async function hasMoto(python: string): Promise<boolean> {
  const answer = await run(python, ["-c", "import flask, flask_cors, moto; print(moto.__version__)"]).catch(
    () => undefined,
  );
  return usableVersion.test(answer?.stdout.trim() ?? "");
}

async function step(needed: string, command: string, args: readonly string[]): Promise<void> {
  try {
    await run(command, args, { maxBuffer: 64 * 1024 * 1024 });
  } catch (cause) {
    const words = textOf(cause, "stderr").trim().split("\n").at(-1) ?? "";
    throw new EngineError(
      "BuildFailed",
      `moto cannot be prepared, for which ${needed} is needed: ${words === "" ? wordsOf(cause) : words}`,
      { cause },
    );
  }
}
