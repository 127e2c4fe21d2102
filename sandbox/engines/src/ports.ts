/**
 * Free ports that stay ours. Asking the kernel for a port and closing it again leaves a gap in which another process gets the
 * same one, so ports come from below the kernel's own range, and a file names the process each belongs to, with the moment of its start:
 * the files of a container outlive its first process, whose id the next one has, too.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { acquireFileLock } from "./file-lock.ts";
import { identify } from "./process-identity.ts";

/** Ports in a row. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Which ports may be given out. */
export interface PortOptions {
  /** Default: 20000 to 31999. */
  readonly range?: PortRange | undefined;
  /** Address on which they must be free besides loopback. Default: none. */
  readonly address?: string | undefined;
  /** Those that are somebody's although nobody listens there now. */
  readonly except?: ReadonlySet<number> | undefined;
}

const usualRange: PortRange = { first: 20_000, last: 31_999 };
const loopback = "127.0.0.1";

/** Reserved ports; dispose them to give them back. */
export interface ReservedPorts extends AsyncDisposable {
  readonly ports: readonly number[];
}

/** Reserves `count` ports for this process. Ports of processes that no longer run are taken over. Throws when there are not so many. */
export async function reservePorts(count: number, options: PortOptions = {}): Promise<ReservedPorts> {
  const { range = usualRange, address, except = new Set() } = options;
  const portCount = range.last - range.first + 1;
  const folder = portsFolder();
  await using _lock = await acquireFileLock(join(folder, "mutex"));
  const ports: number[] = [];
  // Starting points differ between processes, so that a port does not change hands at once.
  for (let step = 0; ports.length < count && step < portCount; step++) {
    const port = range.first + ((process.pid * 97 + step) % portCount);
    if (!except.has(port) && (await take(folder, port, address))) ports.push(port);
  }
  const release = (): Promise<void> => giveBack(folder, ports);
  if (ports.length < count) {
    await release();
    const missing = count === 1 ? "is no free port" : `are no ${count} free ports`;
    throw new Error(`there ${missing} from ${range.first} to ${range.last}`);
  }
  return { ports, [Symbol.asyncDispose]: release };
}

/** Reserves a port that was ours in an earlier process; undefined when another process has it now. */
export async function reservePort(
  port: number,
  { address }: Pick<PortOptions, "address"> = {},
): Promise<ReservedPorts | undefined> {
  const folder = portsFolder();
  await using _lock = await acquireFileLock(join(folder, "mutex"));
  if (!(await take(folder, port, address))) return undefined;
  return { ports: [port], [Symbol.asyncDispose]: () => giveBack(folder, [port]) };
}

/** Whether nothing listens on the port at this moment, on an address of this machine. Default: loopback. */
export function isPortFree(port: number, address: string = loopback): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, address, () => server.close(() => resolve(true)));
  return promise;
}

/** Makes the port this process's if it is nobody's. */
async function take(folder: string, port: number, address: string | undefined): Promise<boolean> {
  const path = join(folder, String(port));
  if ((await hasLivingOwner(path)) || !(await isPortFree(port))) return false;
  if (address !== undefined && address !== loopback && !(await isPortFree(port, address))) return false;
  const { startedAt = "" } = (await identify(process.pid)) ?? {};
  await writeFile(path, `${process.pid} ${startedAt}`);
  return true;
}

async function giveBack(folder: string, ports: readonly number[]): Promise<void> {
  await Promise.all(ports.map((port) => rm(join(folder, String(port)), { force: true })));
}

/** One folder for each user: nobody can write into another's. */
function portsFolder(): string {
  return join(tmpdir(), `klutch-ports-${process.getuid?.() ?? "user"}`);
}

/** Where the start of a process is not known, its id alone counts. */
async function hasLivingOwner(path: string): Promise<boolean> {
  const [id = "", startedAt = ""] = (await readFile(path, "utf8").catch(() => "")).split(" ");
  const pid = Number(id);
  if (id === "" || !Number.isInteger(pid) || !isRunning(pid)) return false;
  const owner = startedAt === "" ? undefined : await identify(pid);
  return owner === undefined || owner.startedAt === startedAt;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
