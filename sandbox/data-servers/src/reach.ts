/** Addresses and ports of the data servers of a program, and the flags that say them, the same in each program that runs some. */
import { isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import {
  isPortFree,
  type OutsideDoor,
  type PortRange,
  type ReservedPorts,
  reservePort,
  reservePorts,
} from "@klutch/engines";
import { ConfigError, type Flag, FlagFault, optional, text } from "@klutch/program";

/** Sets how applications reach the data servers; the same for all. */
export interface Reach {
  /** Address on which they listen; 0.0.0.0 or :: are all of this machine. */
  readonly listen: string;
  /** Name or address that credentials and certificates contain. */
  readonly host: string;
  /** Undefined: any. */
  readonly ports?: PortRange | undefined;
}

/** Allows connections from this machine only; the default. */
export const onLoopback: Reach = { listen: "127.0.0.1", host: "127.0.0.1" };

/** Tells whether the address means all addresses; credentials cannot name it. */
function isEverywhere(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

/** Returns how logins get into a PostgreSQL server from other machines. `insiders` never do. */
export function outsideDoor({ listen }: Reach, insiders: readonly string[] = []): OutsideDoor | undefined {
  return listen === onLoopback.listen ? undefined : { address: listen, insiders };
}

/** Writes a host as URLs do. */
export function hostInUrl(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}

/** Tells whether a server may use the port. */
export function isWithin({ ports }: Reach, port: number): boolean {
  return ports === undefined || (port >= ports.first && port <= ports.last);
}

/** Time in which the server of a killed process ends, in milliseconds. */
const endingMs = 6_000;

/**
 * Reserves the port that a server had, or another one when that is outside of the range or stays taken, but none of those of servers that do
 * not run now. Throws when all are taken.
 */
export async function keepPort(
  reach: Reach,
  kept: number | undefined,
  except: ReadonlySet<number>,
): Promise<AsyncDisposable & { readonly port: number }> {
  const { listen: address, ports: range } = reach;
  const isKept = kept !== undefined && isWithin(reach, kept);
  const same = isKept ? await reserveFreed(kept, address) : undefined;
  const reserved = same ?? (await reservePorts(1, { range, address, except }));
  return { port: reserved.ports[0] ?? 0, [Symbol.asyncDispose]: () => reserved[Symbol.asyncDispose]() };
}

async function reserveFreed(port: number, address: string): Promise<ReservedPorts | undefined> {
  const until = performance.now() + endingMs;
  for (;;) {
    const reserved = await reservePort(port, { address });
    if (reserved !== undefined || performance.now() >= until) return reserved;
    await sleep(100);
  }
}

/** The table of these flags. */
export interface ReachFlags {
  readonly "data-listen": Flag<string>;
  readonly "data-host": Flag<string | undefined>;
  readonly "data-ports": Flag<PortRange | undefined>;
}

/** The values of these flags. */
export type ReachValues = { readonly [K in keyof ReachFlags]: ReturnType<ReachFlags[K]["read"]> };

const help = {
  listen: "Address on which data servers listen; 0.0.0.0 or :: for all of this machine",
  host: "Name or address of this machine in credentials and certificates. Default: the one on which data servers listen",
  ports: "Ports of the data servers, such as 30010-30049. Default: free ones from 20000 to 31999",
};
const leastPort = 1024;
const mostPort = 65_535;

/** Returns the table. With `prefix` they are variables of the environment, such as `BROKER_DATA_LISTEN`, and no flags. */
export function reachFlags({ prefix }: { readonly prefix?: string } = {}): ReachFlags {
  const words = (name: string, value: string, help: string) =>
    prefix === undefined ? { value, help } : { value, help, env: `${prefix}_DATA_${name}`, envOnly: true };
  const listen = text({ ...words("LISTEN", "address", help.listen), default: onLoopback.listen });
  return {
    "data-listen": { ...listen, read: (texts) => listenAddress(listen.read(texts)) },
    "data-host": {
      ...words("HOST", "host", help.host),
      read: ([given = ""]) => (given === "" ? undefined : hostName(given)),
    },
    "data-ports": optional({
      ...words("PORTS", "first-last", help.ports),
      read: ([given = ""]) => portRange(given),
    }),
  };
}

/** Combines the values. Throws `ConfigError` when they contradict each other, or this machine. */
export async function reachOf(flags: ReachFlags, values: ReachValues): Promise<Reach> {
  const { "data-listen": listen, "data-ports": ports } = values;
  const host = values["data-host"] ?? listen;
  const title = (name: keyof ReachFlags): string => flags[name].env ?? `--${name}`;
  if (isEverywhere(host))
    throw new ConfigError([
      `${title("data-host")} is required, because ${title("data-listen")} is ${listen}: credentials need one name or address at which applications reach this machine`,
    ]);
  // The kernel chooses port 0, so only the address can be wrong.
  if (await isPortFree(0, listen)) return { listen, host, ports };
  const own = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  throw new ConfigError([
    `${title("data-listen")}: "${listen}" is no address of this machine, which has ${own.join(", ")}`,
  ]);
}

function listenAddress(given: string): string {
  const address = canonical(given);
  if (isIP(address) !== 0) return address;
  throw new FlagFault("must be an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all");
}

function hostName(given: string): string {
  const host = canonical(given);
  if (isHost(host) && !isEverywhere(host)) return host;
  if (isEverywhere(host)) throw new FlagFault("is every address; one that applications reach is needed");
  throw new FlagFault("must be a name such as db.example.org, or an IP address, without a scheme and a port");
}

/** Returns the usual form of an IPv6 address; one with a zone is valid on one machine only, and refused. */
function canonical(address: string): string {
  if (isIP(address) !== 6) return address;
  return address.includes("%") ? "" : new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** Accepts an address, or a DNS name (RFC 1123) whose last part is not a number. */
function isHost(host: string): boolean {
  const labels = host.split(".");
  const areLabels = labels.every((label) => /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(label));
  return isIP(host) !== 0 || (host.length <= 253 && areLabels && !/^\d+$/.test(labels.at(-1) ?? ""));
}

function portRange(given: string): PortRange {
  const [first = Number.NaN, last = Number.NaN] =
    /^(\d{1,5})-(\d{1,5})$/.exec(given)?.slice(1).map(Number) ?? [];
  if (first >= leastPort && last >= first && last <= mostPort) return { first, last };
  throw new FlagFault(`must be first-last within ${leastPort} to ${mostPort}, such as 30010-30049`);
}
