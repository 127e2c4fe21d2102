/** A process that starts a cluster, says where, and waits to be killed. */
import { startNodeCluster } from "../cluster.ts";

const cluster = await startNodeCluster({ name: "abandoned" });
const { folder, network, node } = cluster;
process.stdout.write(`${JSON.stringify({ folder, bridge: network.addresses.bridge, node: node.name })}\n`);
await cluster.exited;
