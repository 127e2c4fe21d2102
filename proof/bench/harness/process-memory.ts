/** Reads memory and CPU time from Linux. */
import { readFileSync } from "node:fs";

/** Memory of one process in MiB. */
export interface ProcessMemory {
  readonly rss: number;
  /** The highest `rss` since the process started. */
  readonly peak: number;
}

/** Returns the memory of a process. */
export function memoryOf(pid: number): ProcessMemory {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
  return { rss: field("VmRSS"), peak: field("VmHWM") };
}

/** Returns the CPU seconds that a process has used since it started. */
export function cpuSecondsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it, in ticks of 10 ms.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Returns the MiB of memory that the machine can still give to new processes. */
export function availableMemory(): number {
  return parseAvailable(readFileSync("/proc/meminfo", "utf8"));
}

/** Reads the text of `/proc/meminfo` (proc_meminfo(5)). Throws without the line that says it. */
export function parseAvailable(meminfo: string): number {
  const [, size] = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo) ?? [];
  if (size === undefined) throw new Error("/proc/meminfo has no line MemAvailable");
  return Number(size) / 1024;
}
