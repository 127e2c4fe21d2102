/**
 * Bridges of this machine that nodes are on, so that they reach each other and the servers at the machine's own address there. All names and
 * addresses follow from two small numbers, so a name that is free gives a free address.
 */
import { mkdtempDisposable } from "node:fs/promises";
import { BlockList, isIPv4 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EngineError, reservePorts, resolveEngine, resolveNodePrograms, startProcess } from "@klutch/engines";
import { recordsAt, textAt } from "@klutch/kube-core";
import { run, startWatchdog } from "./command.ts";
import type { Namespaces } from "./namespaces.ts";

/** Number of networks that a machine can have. */
export const networkCount = 256;

/** A bridge and its /24, of RFC 1918 so that package managers speak HTTP to a registry there. */
export interface NetworkAddresses {
  readonly bridge: string;
  /** Address of this machine. */
  readonly host: string;
  readonly subnet: string;
  /** Returns the node with that number, from 0. Throws `RangeError` when the network is full. */
  readonly node: (number: number) => NodeAddresses;
}

/** Names of a node outside of it. */
export interface NodeAddresses {
  readonly address: string;
  /** Names the interface beside the bridge, and the cgroups. */
  readonly name: string;
}

/** A network. Disposing removes it, as does the end of this process. */
export interface NodeNetwork extends AsyncDisposable {
  readonly addresses: NetworkAddresses;
  /** Environment in which `ip` is found. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns a node that was not returned before. */
  nextNode(): NodeAddresses;
}

/** Returns the names of the network with that number. */
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

/** Returns true if two ranges of IPv4 addresses, `address` or `address/length`, have one in common. */
export function overlaps(one: string, other: string): boolean {
  return containsFirst(one, other) || containsFirst(other, one);
}

function containsFirst(range: string, other: string): boolean {
  const [net = "", length = "32"] = range.split("/");
  const [first = ""] = other.split("/");
  if (!isIPv4(net) || !isIPv4(first)) return false;
  const list = new BlockList();
  list.addSubnet(net, Number(length));
  return list.check(first);
}

const script = `
trap '' PIPE
ip link add name "$1" type bridge || exit 1
if ip address add "$2" dev "$1" && ip link set "$1" up; then
  echo up
  read -r _
fi
ip link delete "$1"
`;

/** Opens the first free network. The kernel gives a bridge's name once, so it decides who gets which. Throws `EngineError`. */
export async function openNodeNetwork(): Promise<NodeNetwork> {
  const { env } = await resolveNodePrograms();
  const routes = await run({ command: "ip", args: ["-4", "-json", "route", "show"], env });
  const printed: unknown = JSON.parse(routes);
  const taken = recordsAt({ printed }, "printed").flatMap((route) => textAt(route, "dst") ?? []);
  for (let number = 0; number < networkCount; number++) {
    const addresses = networkAddresses(number);
    if (taken.some((range) => overlaps(range, addresses.subnet))) continue;
    const bridge = await openBridge(addresses, env);
    if (bridge === undefined) continue;
    let nodes = 0;
    const dispose = (): PromiseLike<void> => bridge[Symbol.asyncDispose]();
    return { addresses, env, nextNode: () => addresses.node(nodes++), [Symbol.asyncDispose]: dispose };
  }
  throw new EngineError("Unfit", "all of 10.213.0.0/16 is in use on this machine: see ip route and ip link");
}

/** Returns undefined when another process was first. */
async function openBridge({ bridge, host }: NetworkAddresses, env: NodeNetwork["env"]) {
  const watchdog = startWatchdog(bridge, script, [bridge, `${host}/24`], env);
  try {
    await watchdog.line();
    return watchdog;
  } catch (error) {
    if (error instanceof EngineError && error.message.includes("File exists")) return undefined;
    throw error;
  }
}

/** Links a node to the bridge; both ends vanish with its namespaces. Its default route is this machine. Throws `EngineError`. */
export async function connect(
  { addresses, env }: NodeNetwork,
  { address, name }: NodeAddresses,
  { pid, enter }: Namespaces,
): Promise<void> {
  const ip = { command: "ip", args: ["-batch", "-"], env };
  await run(
    ip,
    `link add ${name} type veth peer name eth0 netns ${pid}
link set ${name} master ${addresses.bridge} up`,
  );
  await run(
    enter(ip),
    `address add ${address}/24 dev eth0
link set eth0 up
route add default via ${addresses.host}`,
  );
}

/** A registry on this machine that nodes and their Pods reach, without TLS and without passwords. Disposing ends it and removes what was pushed. */
export interface NodeRegistry extends AsyncDisposable {
  /** First part of the images' names: `10.213.0.1:20000`. Of RFC 1918, so that Crossplane's package manager speaks HTTP to it. */
  readonly host: string;
  /** `http://` and the host. */
  readonly url: string;
}

/** Starts one on the network's own address. It is for nodes of that network; nothing else routes there. */
export async function startNodeRegistry({ addresses }: NodeNetwork): Promise<NodeRegistry> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-node-registry-"))).path;
  const { ports } = stack.use(await reservePorts(1));
  const host = `${addresses.host}:${ports[0]}`;
  const url = `http://${host}`;
  stack.use(
    await startProcess({
      name: "registry",
      command: await resolveEngine("crane"),
      args: ["registry", "serve", "--address", host, "--disk", folder],
      logFile: join(folder, "registry.log"),
      ready: async () => (await fetch(`${url}/v2/`)).ok,
    }),
  );
  return Object.assign(stack.move(), { host, url });
}
