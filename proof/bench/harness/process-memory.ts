/** Reads the agent's memory and CPU time from Linux. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Memory of one process in MiB. */
export interface ProcessMemory {
  readonly rss: number;
  /** `rss` without mapped files, such as the program itself. */
  readonly anonymous: number;
  /** The highest `rss` since the process started. */
  readonly peak: number;
}

/** Returns the memory of the group's largest process: an agent may have been started through a shell. */
export function memoryOf(group: number): ProcessMemory {
  const text = readFileSync(`/proc/${largestOf(group)}/status`, "utf8");
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
  return { rss: field("VmRSS"), anonymous: field("RssAnon"), peak: field("VmHWM") };
}

/** Returns the CPU seconds that the largest process of the group has used since it started. */
export function cpuSecondsOf(group: number): number {
  const text = readFileSync(`/proc/${largestOf(group)}/stat`, "utf8");
  // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it, in ticks of 10 ms.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function largestOf(group: number): number {
  const lines = execFileSync("ps", ["-eo", "pgid=,rss=,pid="], { encoding: "utf8" }).trim().split("\n");
  const rows = lines.map((line) => line.trim().split(/\s+/).map(Number)).filter(([pgid]) => pgid === group);
  const [largest] = rows.toSorted(([, left = 0], [, right = 0]) => right - left);
  if (largest?.[2] === undefined) throw new Error(`no process of the group ${group} runs`);
  return largest[2];
}
