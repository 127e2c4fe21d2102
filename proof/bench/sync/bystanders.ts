/**
 * Others who use the clusters meanwhile: a person who edits one claim at a time, twice a second, and a neighbour with ten small requests
 * a second on each cluster, as an ordinary account.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { configMaps } from "@klutch/kube-core";
import { createKubeClient, type KubeClient } from "@klutch/kube";
import { objectOfType } from "@klutch/kube-testing";
import { createAccount } from "../harness/accounts.ts";
import { anyOf, type ClaimRef, type Claims } from "../harness/claims.ts";
import { formatPercentiles, percentiles } from "../harness/statistics.ts";
import { within } from "../harness/within.ts";
import type { Side } from "../harness/fixture.ts";
import type { BenchContext } from "./case.ts";

/** Bystanders at work. */
export interface Bystanders {
  /** The claims that the person may edit. */
  readonly synced: ClaimRef[];
  /** Ends it and reports its figures. */
  stop(): Promise<void>;
}

const editEveryMs = 500;
const askEveryMs = 100;

/** Starts them, once for a fixture. */
export async function startBystanders(
  { random, say, report, keep }: BenchContext,
  claims: Claims,
): Promise<Bystanders> {
  const { consumer, provider, problem } = claims.fixture;
  const [onConsumer, onProvider] = await Promise.all([startNeighbour(consumer), startNeighbour(provider)]);
  const synced: ClaimRef[] = [];
  let size = 1000;
  const stopEditing = every(editEveryMs, () =>
    synced.length === 0 ? undefined : claims.resize(anyOf(synced, random), ++size),
  );
  const ownDelay = monitorEventLoopDelay({ resolution: 5 });
  ownDelay.enable();
  // Connections and compilers warm up.
  await sleep(1000);
  return {
    synced,
    async stop() {
      const edits = await within(stopEditing(), 120_000, "the last edits to arrive", problem);
      const others = { consumer: await onConsumer(), provider: await onProvider() };
      const own = ownDelay.percentile(99) / 1e6;
      keep("bystanders", { edits, others, ownEventLoopP99Ms: own });
      for (const [where, sample] of [
        ["app cluster", others.consumer],
        ["control plane", others.provider],
      ] as const) {
        const value = percentiles(sample);
        say(`another client, ${where}: ${formatPercentiles(value)}`);
        report(`another client meanwhile, ${where}, p99`, value.p99, "ms", { atMost: 100 });
      }
      if (edits.length === 0) {
        say("the backlog was gone before a user could edit: no figure for edits meanwhile");
        return;
      }
      const value = percentiles(edits);
      say(
        `user edits meanwhile: ${formatPercentiles(value)}; event loop of the benchmark p99 ${own.toFixed(0)} ms`,
      );
      report("user edit during the backlog, p99", value.p99, "ms", { atMost: 150 });
    },
  };
}

/** Asks again and again without waiting for answers; what it gives back ends that, waits for those under way and returns all. */
function every<T>(periodMs: number, ask: () => Promise<T> | undefined): () => Promise<readonly T[]> {
  const open: Promise<T>[] = [];
  const timer = setInterval(() => {
    const asked = ask();
    if (asked === undefined) return;
    // A failure is thrown at the end.
    asked.catch(() => undefined);
    open.push(asked);
  }, periodMs);
  return () => {
    clearInterval(timer);
    return Promise.all(open);
  };
}

const neighbour = { namespace: "default", name: "bench-neighbour" };

/** Starts one on a cluster; what it gives back ends it and returns the milliseconds of its requests. */
async function startNeighbour({ cluster }: Side): Promise<() => Promise<readonly number[]>> {
  const config = await createAccount(cluster.client, cluster.config, neighbour);
  const client = createKubeClient(config, { userAgent: "bench-neighbour", flowControl: false });
  await client.create(configMaps, objectOfType(configMaps, neighbour, { data: { round: "0" } }));
  let round = 0;
  const stop = every(askEveryMs, () => ask(client, ++round));
  return async () => {
    const times = await stop();
    await client[Symbol.asyncDispose]();
    return times;
  };
}

/** Reads and small writes in turn; a request that fails counts as infinitely slow. */
async function ask(client: KubeClient, round: number): Promise<number> {
  const startedAt = performance.now();
  try {
    if (round % 2 === 0) await client.get(configMaps, neighbour);
    else await client.mergePatch(configMaps, neighbour, { data: { round: String(round) } });
    return performance.now() - startedAt;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
