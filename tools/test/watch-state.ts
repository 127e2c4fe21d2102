/** What a test file's process says of itself while it runs, and when that is too long ago. */

/** The environment variable with the folder where it says so. */
export const watchFolderVariable = "KLUTCH_TEST_WATCH";

/** The environment variable that tells a runner that it runs test files itself, in one process. */
export const batchVariable = "KLUTCH_TEST_BATCH";

/** The environment variable by which processes that a test file started are known; its value is the path of what the file says of itself. */
export const startedByVariable = "KLUTCH_TEST_STARTED_BY";

/** Of one process; written to a file that is named after its id. */
export interface WatchState {
  /** Absolute path of the test file. */
  readonly file: string;
  /** `ended`: no test of it is left. `gone`: the process has ended. */
  readonly phase: "tests" | "ended" | "gone";
  /** When the phase began, or a test of it started or ended; milliseconds since 1970. */
  readonly atMs: number;
  /** What keeps the process running, as Node.js calls it: such as `TCPServerWrap`. */
  readonly active: readonly string[];
}

/** How long a file may take. */
export interface WatchLimits {
  /** Without a test that starts or ends. */
  readonly silentMs: number;
  /** After its last test: for what it stops and removes. */
  readonly endingMs: number;
  readonly pollMs: number;
}

/** Reads what a process wrote; undefined for half of it. */
export function parseWatchState(text: string): WatchState | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isWatchState(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isWatchState(value: unknown): value is WatchState {
  return (
    typeof value === "object" &&
    value !== null &&
    "file" in value &&
    "phase" in value &&
    "atMs" in value &&
    "active" in value
  );
}

/** Why the file has to be ended now; undefined while it may go on. */
export function overdue(
  { phase, atMs, active }: WatchState,
  nowMs: number,
  limits: WatchLimits,
): string | undefined {
  const passedMs = nowMs - atMs;
  const time = `${Math.round(passedMs / 1000)} s`;
  if (phase === "tests")
    return passedMs > limits.silentMs ? `no test of it has started or ended for ${time}` : undefined;
  if (passedMs <= limits.endingMs) return undefined;
  if (phase === "gone") return `it ended ${time} ago and left processes`;
  const kept = active.length === 0 ? "what it removes at its end" : [...counted(active)].join(", ");
  return `its tests ended ${time} ago, and something keeps it running (${kept})`;
}

function counted(names: readonly string[]): readonly string[] {
  const groups = Map.groupBy(names, (name) => name);
  return [...groups].map(([name, all]) => `${all.length} ${name}`);
}
