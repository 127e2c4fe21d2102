/**
 * Free ports that stay ours. Asking the kernel for a port and closing it again leaves a gap in which another process gets the
 * same one, so ports come from below the kernel's own range and are held by a lock file.
 */
import { mkdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning, ownerOf, tryCreate } from "./file-lock.ts";

const firstPort = 20_000;
const portCount = 12_000;

/** Reserved ports; dispose them to give them back. */
export interface ReservedPorts extends AsyncDisposable {
  readonly ports: readonly number[];
}

/** Reserves `count` ports on loopback for this process. */
export async function reservePorts(count: number): Promise<ReservedPorts> {
  const folder = join(tmpdir(), "klutch-ports");
  await mkdir(folder, { recursive: true });
  const ports: number[] = [];
  // Starting points differ between processes, so that they rarely try the same port.
  for (let step = 0; ports.length < count && step < portCount; step++) {
    const port = firstPort + ((process.pid * 97 + step) % portCount);
    if ((await claim(join(folder, String(port)))) && (await isFree(port))) ports.push(port);
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

async function claim(path: string): Promise<boolean> {
  if (await tryCreate(path)) return true;
  const owner = await ownerOf(path);
  if (owner === undefined || isRunning(owner)) return false;
  await rm(path, { force: true });
  return tryCreate(path);
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return promise;
}
