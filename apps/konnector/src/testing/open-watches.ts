/** Counts watches where they cost memory: at the API server that holds them open. */
import { serverMetrics, type TestCluster } from "@klutch/kube-testing";

/** Returns the open watches of the tests' own kinds that an API server counts in its metrics. */
export async function openWatches(cluster: Pick<TestCluster, "config">): Promise<number> {
  let open = 0;
  for (const line of (await serverMetrics(cluster)).split("\n"))
    if (/^apiserver_longrunning_requests\{.*group="test\.klutch\.example".*verb="WATCH"/.test(line))
      open += Number(line.split(" ").at(-1));
  return open;
}
