/** Names and addresses of networks and their nodes: all follow from two small numbers, so a name that is free gives a free address. */

/** How many networks there can be on a machine. */
export const networkCount = 256;

/** A network: a bridge of this machine and its /24, of RFC 1918 so that package managers speak HTTP to a registry there. */
export interface NetworkAddresses {
  readonly bridge: string;
  /** Of this machine. */
  readonly host: string;
  readonly subnet: string;
  /** The node with that number, from 0. Throws `RangeError` when the network is full. */
  readonly node: (number: number) => NodeAddresses;
}

/** What a node is called from outside. */
export interface NodeAddresses {
  readonly address: string;
  /** Of the interface beside the bridge, and of the cgroups. */
  readonly name: string;
}

/** Of the network with that number. */
export function networkAddresses(number: number): NetworkAddresses {
  const prefix = `10.213.${number}`;
  return {
    bridge: `klutch-br${number}`,
    host: `${prefix}.1`,
    subnet: `${prefix}.0/24`,
    node: (node) => {
      if (node > 252) throw new RangeError(`the network ${prefix}.0/24 has no room for another node`);
      return { address: `${prefix}.${node + 2}`, name: `klutch${number}-${node}` };
    },
  };
}

/** Whether two ranges of IPv4 addresses, `address` or `address/length`, have one in common. */
export function overlaps(one: string, other: string): boolean {
  const [a, b] = [rangeOf(one), rangeOf(other)];
  return a !== undefined && b !== undefined && a.first <= b.last && b.first <= a.last;
}

function rangeOf(cidr: string): { readonly first: number; readonly last: number } | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(cidr);
  if (match === null) return undefined;
  const bytes = match.slice(1, 5).map(Number);
  const size = 2 ** (32 - Number(match[5] ?? 32));
  const address = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const first = Math.floor(address / size) * size;
  return { first, last: first + size - 1 };
}
