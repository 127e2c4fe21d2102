/** A process that starts a cluster, says where, and waits to be killed. */
import { startNodeCluster } from "../cluster.ts";
import { openNodeNetwork } from "../network.ts";

const network = await openNodeNetwork();
const { folder, node } = await startNodeCluster({ name: "abandoned", network });
process.stdout.write(`${JSON.stringify({ folder, bridge: network.addresses.bridge, node: node.name })}\n`);
