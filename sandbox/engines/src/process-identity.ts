/** Identifies a process: an id alone may be reused later, and repeats in a container that was started again. */
import { readFile } from "node:fs/promises";

/** A process, now and for ever. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Ticks since the boot. */
  readonly startedAt: string;
  readonly boot: string;
}

/** Returns the identity of a process; undefined when no such process runs. Linux only. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const [stat, boot] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""),
    readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => ""),
  ]);
  // The name before it may hold anything, also brackets; a zombie has ended.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const startedAt = fields[19];
  return startedAt === undefined || fields[0] === "Z" ? undefined : { pid, startedAt, boot: boot.trim() };
}
