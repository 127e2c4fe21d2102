/**
 * Free ports that stay ours. Asking the kernel for a port and closing it again leaves a gap in which another process gets the same one, so
 * ports come from below the kernel's own range, and a lock for each says that it is taken, which ends with its owner.
 */
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryFileLock } from "./file-lock.ts";

/** Ports in a row. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Limits which ports may be given out. */
export interface PortOptions {
  /** Default: 20000 to 31999. */
  readonly range?: PortRange | undefined;
  /** Address on which they must be free besides loopback. Default: none. */
  readonly address?: string | undefined;
  /** Ports that belong to something although nothing listens there now. */
  readonly except?: ReadonlySet<number> | undefined;
}

const usualRange: PortRange = { first: 20_000, last: 31_999 };
const loopback = "127.0.0.1";

/** Reserved ports; dispose them to give them back. They are given back as well when this process ends, however it ends. */
export interface ReservedPorts extends AsyncDisposable {
  readonly ports: readonly number[];
}

/** Reserves `count` ports for this process. Throws when fewer are free. */
export async function reservePorts(count: number, options: PortOptions = {}): Promise<ReservedPorts> {
  const { range = usualRange, address, except = new Set() } = options;
  const portCount = range.last - range.first + 1;
  await using stack = new AsyncDisposableStack();
  const ports: number[] = [];
  // Starting points differ between processes, so that a port does not change hands at once.
  for (let step = 0; ports.length < count && step < portCount; step++) {
    const port = range.first + ((process.pid * 97 + step) % portCount);
    const reserved = except.has(port) ? undefined : await reservePort(port, { address });
    if (reserved === undefined) continue;
    stack.use(reserved);
    ports.push(port);
  }
  if (ports.length < count) {
    const missing = count === 1 ? "is no free port" : `are no ${count} free ports`;
    throw new Error(`there ${missing} from ${range.first} to ${range.last}`);
  }
  return Object.assign(stack.move(), { ports });
}

/** Reserves this port, such as that of an earlier process; undefined when another process has it now. */
export async function reservePort(
  port: number,
  { address = loopback }: Pick<PortOptions, "address"> = {},
): Promise<ReservedPorts | undefined> {
  // One folder for each user: no user can write into another's.
  const folder = join(tmpdir(), `klutch-ports-${process.getuid?.() ?? "user"}`);
  const lock = await tryFileLock(join(folder, `${port}.lock`));
  if (lock === undefined) return undefined;
  const release = (): PromiseLike<void> => lock[Symbol.asyncDispose]();
  if ((await isPortFree(port)) && (address === loopback || (await isPortFree(port, address))))
    return { ports: [port], [Symbol.asyncDispose]: release };
  await release();
  return undefined;
}

/** Returns whether nothing listens on the port at this moment, on an address of this machine. Default: loopback. */
export function isPortFree(port: number, address: string = loopback): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, address, () => server.close(() => resolve(true)));
  return promise;
}
