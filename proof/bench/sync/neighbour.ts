/** Somebody else who uses the clusters meanwhile: ten small requests a second on each, as an ordinary account. */
import { configMaps, type DynamicObject } from "@klutch/kube-core";
import { createKubeClient, type KubeClient } from "@klutch/kube";
import { createAccount } from "../harness/accounts.ts";
import type { BenchWorld, Side } from "../harness/world.ts";

const everyMs = 100;
const ref = { namespace: "default", name: "bench-neighbour" };

/** The neighbour at work. */
export interface Neighbour {
  /** Ends it and gives back the milliseconds of its requests on each cluster. */
  stop(): Promise<{ readonly consumer: readonly number[]; readonly provider: readonly number[] }>;
}

/** Starts it; a request that fails counts as infinitely slow. */
export async function startNeighbour({ consumer, provider }: BenchWorld): Promise<Neighbour> {
  const [stopOnConsumer, stopOnProvider] = await Promise.all([startOn(consumer), startOn(provider)]);
  return {
    async stop() {
      return { consumer: await stopOnConsumer(), provider: await stopOnProvider() };
    },
  };
}

/** Each start is one account: use it once for a world. */
async function startOn({ cluster }: Side): Promise<() => Promise<readonly number[]>> {
  const account = { namespace: "default", name: "bench-neighbour" };
  const config = await createAccount(cluster.client, cluster.config, account);
  const client = createKubeClient(config, { userAgent: "bench-neighbour", flowControl: false });
  await client.create<DynamicObject>(configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: ref,
    data: { round: "0" },
  });
  const latencies: number[] = [];
  const open = new Set<Promise<void>>();
  let round = 0;
  const timer = setInterval(() => {
    const asking = measure(client, ++round)
      .then((ms) => void latencies.push(ms))
      .finally(() => open.delete(asking));
    open.add(asking);
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await Promise.all(open);
    await client[Symbol.asyncDispose]();
    return latencies;
  };
}

/** Reads and small writes in turn. */
async function measure(client: KubeClient, round: number): Promise<number> {
  const startedAt = performance.now();
  try {
    if (round % 2 === 0) await client.get(configMaps, ref);
    else await client.mergePatch(configMaps, ref, { data: { round: String(round) } });
    return performance.now() - startedAt;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
