/**
 * The parts that all benchmark programs share: their options, the machine that they ran on and that they keep awake, and their exit code.
 */
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";
import { exitCodeOf, type OptionDefaults, optionsOf } from "@klutch/kube-testing";

/**
 * Runs a benchmark with the options of the command line and returns its exit code: 1 when `measure` gives false, 2 for a command line that
 * is wrong. Prints the machine before, and the load and the CPU time that was missing after it. `awake` keeps the processors awake meanwhile;
 * `wordsFor` is that of `optionsOf`.
 */
export function runBenchmark<D extends OptionDefaults>(
  defaults: D,
  measure: (options: D) => Promise<boolean | void>,
  { awake = false, wordsFor }: { readonly awake?: boolean; readonly wordsFor?: keyof D } = {},
): Promise<number> {
  return exitCodeOf(async () => {
    const options = optionsOf(defaults, process.argv.slice(2), wordsFor);
    await using stack = new AsyncDisposableStack();
    const isAwake = awake && stack.use(await keepAwake()).isAwake;
    console.log(`machine ${describeMachine()}${isAwake ? "; processors kept awake" : ""}`);
    const ticks = cpuTicks();
    const isGood = await measure(options);
    const stolen = stolenPercent(ticks, cpuTicks()).toFixed(0);
    console.log(`load ${describeLoad()}; the host withheld ${stolen} % of the CPU time`);
    return isGood === false ? 1 : 0;
  });
}

/** Returns one line, with the load at this moment. */
export function describeMachine(): string {
  const memory = (totalmem() / 1024 ** 3).toFixed(0);
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, ${memory} GiB, Node ${process.versions.node}, load ${describeLoad()}`;
}

/** Load averages of 1, 5 and 15 minutes. */
export function describeLoad(): string {
  return loadavg()
    .map((load) => load.toFixed(2))
    .join(" ");
}

/** Ticks of all CPUs since the machine started. */
export interface CpuTicks {
  readonly all: number;
  /** Wanted here and not given by the machine's host: others were served first, or a processor slept and had to be woken. */
  readonly stolen: number;
}

/** Returns the present ticks. */
export function cpuTicks(): CpuTicks {
  return parseCpuTicks(readFileSync("/proc/stat", "utf8"));
}

/** Reads the text of `/proc/stat` (proc_stat(5)). The times of a machine's own guests are part of `user` and `nice` already. */
export function parseCpuTicks(stat: string): CpuTicks {
  const [line = ""] = stat.split("\n", 1);
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { all: ticks.reduce((sum, one) => sum + one, 0), stolen: ticks[7] ?? 0 };
}

/** Percent of the machine's CPU time between the two that its host withheld: figures suffer from it as from any other load. */
export function stolenPercent(before: CpuTicks, after: CpuTicks): number {
  return after.all === before.all ? 0 : (100 * (after.stolen - before.stolen)) / (after.all - before.all);
}

/**
 * Keeps the processors from sleeping until it is disposed. To wake a virtual one costs up to half a millisecond, many times for each request,
 * and its host counts the wait as stolen (proof/bench/RESULTS.md). Does the same as tuned's profile `latency-performance`, by the kernel's
 * PM QoS. `isAwake` is false where the kernel or the rights for it are missing.
 */
export async function keepAwake(): Promise<AsyncDisposable & { readonly isAwake: boolean }> {
  const handle = await open("/dev/cpu_dma_latency", "r+").catch(() => undefined);
  // A signed 32-bit number of microseconds: the longest time to wake up that is acceptable.
  await handle?.write(new Uint8Array(4));
  return {
    isAwake: handle !== undefined,
    [Symbol.asyncDispose]: async () => handle?.close(),
  };
}
