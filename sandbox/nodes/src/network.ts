/** A bridge of this machine that nodes are on, so that they reach each other and what listens on the machine's own address there. */
import { resolveNodePrograms } from "@klutch/engines";
import { recordsAt, textAt } from "@klutch/kube-core";
import { type NetworkAddresses, networkAddresses, networkCount, overlaps } from "./addresses.ts";
import { run } from "./command.ts";
import { NodeError } from "./errors.ts";
import { type Leashed, startLeashed } from "./leash.ts";

/** A network. Disposing removes it, as does the end of this process. */
export interface NodeNetwork extends AsyncDisposable {
  readonly addresses: NetworkAddresses;
  /** In which `ip` is found. */
  readonly env: Readonly<Record<string, string>>;
  /** Numbers of nodes, none twice. */
  nextNode(): number;
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

/** Opens the first network that nobody has. The kernel gives a bridge's name once, so it decides who gets which. Throws `NodeError`. */
export async function openNodeNetwork(): Promise<NodeNetwork> {
  const { env } = await resolveNodePrograms();
  const taken = await takenRanges(env);
  for (let number = 0; number < networkCount; number++) {
    const addresses = networkAddresses(number);
    if (taken.some((range) => overlaps(range, addresses.subnet))) continue;
    const bridge = await openBridge(addresses, env);
    if (bridge === undefined) continue;
    let nodes = 0;
    return {
      addresses,
      env,
      nextNode: () => nodes++,
      [Symbol.asyncDispose]: () => bridge[Symbol.asyncDispose](),
    };
  }
  throw new NodeError("Unfit", "all of 10.213.0.0/16 is in use on this machine: see ip route and ip link");
}

/** Undefined when somebody else was first. */
async function openBridge(
  { bridge, host }: NetworkAddresses,
  env: NodeNetwork["env"],
): Promise<Leashed | undefined> {
  const leashed = startLeashed(bridge, script, [bridge, `${host}/24`], env);
  try {
    await leashed.line();
    return leashed;
  } catch (error) {
    if (error instanceof NodeError && error.message.includes("File exists")) return undefined;
    throw error;
  }
}

async function takenRanges(env: NodeNetwork["env"]): Promise<readonly string[]> {
  const routes: unknown = JSON.parse(
    await run({ command: "ip", args: ["-4", "-json", "route", "show"], env }),
  );
  return recordsAt({ routes }, "routes").flatMap((route) => textAt(route, "dst") ?? []);
}
