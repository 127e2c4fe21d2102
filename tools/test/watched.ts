/** Loaded into each test file's process before the file: says that the process makes progress. Does nothing in any other process. */
import { writeFileSync } from "node:fs";
import { after, afterEach, beforeEach } from "node:test";
import { isMainThread } from "node:worker_threads";
import { takeStateFile } from "./environment.ts";
import type { WatchState } from "./watch-state.ts";

/** How often a process whose tests have ended looks at what keeps it running. */
const lookEveryMs = 200;

/** Until a test says its own. A batch of files is known by its runner. */
const [, testFile = "several files"] = process.argv;
const stateFile = isMainThread ? takeStateFile() : undefined;
if (stateFile !== undefined) watch(testFile, stateFile);

function watch(firstFile: string, path: string): void {
  let file = firstFile;
  const usual = process.getActiveResourcesInfo();
  const say = (phase: WatchState["phase"], atMs: number, active: readonly string[] = []): void => {
    const state: WatchState = { file, phase, atMs, active };
    writeFileSync(path, JSON.stringify(state));
  };
  let looking: NodeJS.Timeout | undefined;
  const beat = (context?: unknown): void => {
    if (context instanceof Object && "filePath" in context && typeof context.filePath === "string")
      file = context.filePath;
    // A file may go on with tests after it had none left for a while.
    clearInterval(looking);
    say("tests", wallMs());
  };
  beat();
  beforeEach(beat);
  afterEach(beat);
  after(() => {
    const endedMs = wallMs();
    const look = (): void => say("ended", endedMs, without(process.getActiveResourcesInfo(), usual));
    look();
    looking = setInterval(look, lookEveryMs).unref();
  });
  process.on("exit", () => say("gone", wallMs()));
}

/** Comparable with that of another process. */
function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

/** `names` less one for each of `others`. */
function without(names: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return names.filter((name) => {
    const index = left.indexOf(name);
    if (index < 0) return true;
    left.splice(index, 1);
    return false;
  });
}
