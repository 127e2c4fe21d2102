/** What the sandbox needs of this machine, asked before anything that takes minutes. */
import { statfs } from "node:fs/promises";

const mib = 1024 * 1024;

/** What the servers of a sandbox take together after the demo, with some room. */
const memoryMiB = 3_000;
/** Of a new state; a kept one has most of it already. */
const stateMiB = 600;

/** What was found on the machine. */
export interface MachineRoom {
  readonly memoryMiB: number;
  readonly stateMiB: number;
}

/** Throws an Error that names what is short, and what to do. */
export function requireRoom(found: MachineRoom, folder: string): void {
  if (found.memoryMiB < memoryMiB) {
    throw new Error(
      `the sandbox needs ${memoryMiB} MiB of free memory, and ${Math.floor(found.memoryMiB)} MiB are free; end other programs first`,
    );
  }
  if (found.stateMiB < stateMiB) {
    throw new Error(
      `the sandbox needs ${stateMiB} MiB of disk for ${folder}, and ${Math.floor(found.stateMiB)} MiB are free; make room, or name another folder with --dir`,
    );
  }
}

/** Asks the machine; memory as far as this process may use it. */
export async function readMachineRoom(folder: string): Promise<MachineRoom> {
  const { bavail, bsize } = await statfs(folder);
  return { memoryMiB: process.availableMemory() / mib, stateMiB: (bavail * bsize) / mib };
}
