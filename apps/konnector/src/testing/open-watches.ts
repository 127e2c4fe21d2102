/** Counts watches where they cost memory: at the API server that holds them open. */
import { openWatchesIn, serverMetrics, type TestCluster } from "@klutch/kube-testing";

/** Returns the open watches of the tests' own kinds that an API server counts in its metrics. */
export async function openWatches(cluster: Pick<TestCluster, "config">): Promise<number> {
  return openWatchesIn(await serverMetrics(cluster))
    .filter(({ labels }) => labels["group"] === "test.klutch.example")
    .reduce((sum, { value }) => sum + value, 0);
}
