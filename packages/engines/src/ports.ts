/**
 * Free ports that stay ours. Asking the kernel for a port and closing it again leaves a gap in which another process gets the
 * same one, so ports come from below the kernel's own range, and a file names the process each belongs to.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { acquireFileLock } from "./file-lock.ts";

const firstPort = 20_000;
const portCount = 12_000;

/** Reserved ports; dispose them to give them back. */
export interface ReservedPorts extends AsyncDisposable {
  readonly ports: readonly number[];
}

/** Reserves `count` ports on loopback for this process. Ports of processes that no longer run are taken over. */
export async function reservePorts(count: number): Promise<ReservedPorts> {
  const folder = portsFolder();
  await using _lock = await acquireFileLock(join(folder, "mutex"));
  const ports: number[] = [];
  // Starting points differ between processes, so that a port does not change hands at once.
  for (let step = 0; ports.length < count && step < portCount; step++) {
    const port = firstPort + ((process.pid * 97 + step) % portCount);
    const path = join(folder, String(port));
    if (!(await hasLivingOwner(path)) && (await isPortFree(port))) {
      await writeFile(path, String(process.pid));
      ports.push(port);
    }
  }
  if (ports.length < count)
    throw new Error(`no ${count} free ports between ${firstPort} and ${firstPort + portCount}`);
  return {
    ports,
    async [Symbol.asyncDispose]() {
      await Promise.all(ports.map((port) => rm(join(folder, String(port)), { force: true })));
    },
  };
}

/** Reserves a port that was ours in an earlier process; undefined when another process has it now. */
export async function reservePort(port: number): Promise<ReservedPorts | undefined> {
  const folder = portsFolder();
  const path = join(folder, String(port));
  await using _lock = await acquireFileLock(join(folder, "mutex"));
  if ((await hasLivingOwner(path)) || !(await isPortFree(port))) return undefined;
  await writeFile(path, String(process.pid));
  return { ports: [port], [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

/** One folder for each user: nobody can write into another's. */
function portsFolder(): string {
  return join(tmpdir(), `klutch-ports-${process.getuid?.() ?? "user"}`);
}

/** Whether nothing listens on the port on loopback at this moment. */
export function isPortFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return promise;
}

async function hasLivingOwner(path: string): Promise<boolean> {
  const text = await readFile(path, "utf8").catch(() => "");
  const pid = Number(text);
  return text !== "" && Number.isInteger(pid) && isRunning(pid);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
