/** A process with some of the app clusters. It does what it is ordered, one order at a time, and ends with who started it. */
import { type AppCluster, startAppCluster } from "./app-cluster.ts";
import { type Answer, decode, type Order, type Seen } from "./protocol.ts";
import { startWireLog, type WireLog } from "./wire-log.ts";

const clusters: AppCluster[] = [];
let wire: WireLog | undefined;

async function follow(order: Order): Promise<Seen> {
  if ("start" in order) {
    wire = startWireLog(order.server);
    clusters.push(...(await Promise.all(order.start.map(startAppCluster))));
  } else if ("edit" in order) {
    await Promise.all(clusters.map((cluster) => cluster.edit(order.edit)));
  } else {
    const turns = Object.fromEntries(clusters.map(({ name, turns: all }) => [name, all]));
    const restarts = clusters.reduce((sum, one) => sum + one.restarts, 0);
    return { wire: wire?.take() ?? [], turns, restarts };
  }
  return { wire: [], turns: {}, restarts: 0 };
}

process.on("message", (message) => {
  const answered: Promise<Answer> = follow(decode<Order>(message)).then(
    (seen) => ({ seen }),
    (error: unknown) => ({ failed: String(error) }),
  );
  void answered.then((answer) => process.send?.(answer));
});
process.on("disconnect", () => process.exit(0));
