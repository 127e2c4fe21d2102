/** The cable between a node and its network's bridge. */
import type { NodeAddresses } from "./addresses.ts";
import { run } from "./command.ts";
import type { Namespaces } from "./namespaces.ts";
import type { NodeNetwork } from "./network.ts";

/** Both ends; they vanish with the node's namespaces. The node's way to everywhere is this machine. Throws `NodeError`. */
export async function connect(
  { addresses, env }: NodeNetwork,
  { address, name }: NodeAddresses,
  namespaces: Namespaces,
): Promise<void> {
  const ip = ["-batch", "-"];
  const outside = [
    `link add ${name} type veth peer name eth0 netns ${namespaces.pid}`,
    `link set ${name} master ${addresses.bridge} up`,
  ];
  const inside = [
    `address add ${address}/24 dev eth0`,
    "link set eth0 up",
    `route add default via ${addresses.host}`,
  ];
  await run({ command: "ip", args: ip, env }, outside.join("\n"));
  await run(namespaces.enter({ command: "ip", args: ip, env }), inside.join("\n"));
}
