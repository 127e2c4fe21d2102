/** Describes the machine on which the figures were measured. */
import { readFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";

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
