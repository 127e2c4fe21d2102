/** Facts about this machine: the checkout, its architecture, room for the sandbox, listening ports. */
import { connect } from "node:net";
import { join } from "node:path";
import { freeMiBOf } from "@klutch/engines";

/** Root of the checkout. */
export const repository: string = join(import.meta.dirname, "..", "..", "..");

/** Architecture of this machine, as images name it. */
export const architecture: "amd64" | "arm64" = process.arch === "arm64" ? "arm64" : "amd64";

/** Memory of all servers of a sandbox after the demo, with some reserve. */
const memoryMiB = 3_000;
/** Size of a new state; a kept one has most of it already. */
const stateMiB = 600;

/** Free resources of the machine. */
type MachineRoom = Readonly<Record<"memoryMiB" | "stateMiB", number>>;

/** Throws an Error that names the shortage and the remedy, before anything that takes minutes. */
export function requireRoom(found: MachineRoom, folder: string): void {
  const require = (needed: number, free: number, what: string, remedy: string): void => {
    if (free < needed)
      throw new Error(
        `the sandbox needs ${needed} MiB of ${what}, and ${Math.floor(free)} MiB are free; ${remedy}`,
      );
  };
  require(memoryMiB, found.memoryMiB, "free memory", "end other programs first");
  require(stateMiB, found.stateMiB, `disk for ${folder}`, "make room, or name another folder with --dir");
}

/** Returns the room of this machine; memory as far as this process may use it. */
export async function readMachineRoom(folder: string): Promise<MachineRoom> {
  return { memoryMiB: process.availableMemory() / 2 ** 20, stateMiB: await freeMiBOf(folder) };
}

/** Returns true if a server accepts connections at the port now. */
export function isListening(port: number, host = "127.0.0.1"): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, host, () => {
    socket.destroy();
    resolve(true);
  });
  socket.on("error", () => resolve(false));
  return promise;
}

/** Works like `Promise.all`, but waits for all even if one fails: the servers that the others start must be known to be stopped. */
export async function together<const T extends readonly Promise<unknown>[]>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
