/** Which process holds the client end of a loopback connection, from Linux's /proc. */
import { readdir, readFile, readlink } from "node:fs/promises";

/** The one of `pids` that is connected from `clientPort` to `serverPort` of 127.0.0.1. */
export async function connectedProcess(
  pids: readonly number[],
  clientPort: number,
  serverPort: number,
): Promise<number | undefined> {
  const local = endOf(clientPort);
  const remote = endOf(serverPort);
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n");
  const inode = lines
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[1] === local && fields[2] === remote)?.[9];
  if (inode === undefined) return undefined;
  for (const pid of pids) if (await holds(pid, `socket:[${inode}]`)) return pid;
  return undefined;
}

const endOf = (port: number): string => `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;

async function holds(pid: number, socket: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const target = await readlink(`${folder}/${name}`).catch(() => "");
    if (target === socket) return true;
  }
  return false;
}
