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
