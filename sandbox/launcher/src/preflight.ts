/** Checks that this machine has room for the sandbox, before anything that takes minutes. */
import { statfs } from "node:fs/promises";

const mib = 1024 * 1024;

/** Memory of all servers of a sandbox after the demo, with some reserve. */
const memoryMiB = 3_000;
/** Size of a new state; a kept one has most of it already. */
const stateMiB = 600;

/** Free resources of the machine. */
export interface MachineRoom {
  readonly memoryMiB: number;
  readonly stateMiB: number;
}

/** Throws an Error that names the shortage and the remedy. */
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
