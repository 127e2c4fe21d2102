/** Counts watches where they cost memory: at the API server that holds them open. */
import type { KubeClient } from "@klutch/kube";

/** Returns the open watches of the tests' own kinds that an API server counts in its metrics. */
export async function openWatches(client: KubeClient): Promise<number> {
  const text = String(await client.request({ method: "GET", path: "/metrics" }));
  let open = 0;
  for (const line of text.split("\n"))
    if (/^apiserver_longrunning_requests\{.*group="test\.klutch\.example".*verb="WATCH"/.test(line))
      open += Number(line.split(" ").at(-1));
  return open;
}
