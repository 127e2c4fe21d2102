/** Addresses and ports of the data servers of a program. */
import { isIPv6 } from "node:net";
import { type OutsideDoor, type PortRange, reservePort, reservePorts } from "@klutch/engines";

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
export function isEverywhere(address: string): boolean {
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

/**
 * Reserves the port that a server had, or another one when that is outside of the range or taken, but none of those of servers that do not run
 * now. Throws when all are taken.
 */
export async function keepPort(
  reach: Reach,
  kept: number | undefined,
  except: ReadonlySet<number>,
): Promise<AsyncDisposable & { readonly port: number }> {
  const { listen: address, ports: range } = reach;
  const isKept = kept !== undefined && isWithin(reach, kept);
  const same = isKept ? await reservePort(kept, { address }) : undefined;
  const reserved = same ?? (await reservePorts(1, { range, address, except }));
  return { port: reserved.ports[0] ?? 0, [Symbol.asyncDispose]: () => reserved[Symbol.asyncDispose]() };
}
