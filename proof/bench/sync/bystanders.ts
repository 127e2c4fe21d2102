/**
 * Others who use the clusters meanwhile: a person who edits one claim at a time, twice a second, and a neighbour with ten small requests
 * a second on each cluster, as an ordinary account.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { configMaps } from "@klutch/kube-core";
import { createKubeClient, type KubeClient } from "@klutch/kube";
import { objectOfType } from "@klutch/kube-testing";
import { createAccount } from "../harness/tenant.ts";
import { anyOf, type ClaimRef, type Claims } from "../harness/claims.ts";
import type { Side } from "../harness/fixture.ts";
import { formatPercentiles, percentiles } from "../harness/statistics.ts";
import { within } from "../harness/stopwatch.ts";
import type { BenchContext } from "./case.ts";

/** Bystanders at work. */
export interface Bystanders {
  /** The claims that the person may edit. */
  readonly synced: ClaimRef[];
  /** Ends it and reports its figures. */
  stop(): Promise<void>;
}

/** Starts them, once for a fixture. */
export async function startBystanders(
  { random, say, report }: BenchContext,
  claims: Claims,
): Promise<Bystanders> {
  const { consumer, provider, problem } = claims.fixture;
  const neighbours = [
    ["app cluster", await startNeighbour(consumer)],
    ["control plane", await startNeighbour(provider)],
  ] as const;
  const synced: ClaimRef[] = [];
  let size = 1000;
  const stopEditing = every(500, () =>
    synced.length === 0 ? undefined : claims.resize(anyOf(synced, random), ++size),
  );
  // Connections and compilers warm up.
  await sleep(1000);
  const tell = (what: string, times: readonly number[], atMost: number): void => {
    const value = percentiles(times);
    say(`${what}: ${formatPercentiles(value)}`);
    report(`${what}, p99`, value.p99, "ms", { atMost });
  };
  return {
    synced,
    async stop() {
      const edits = await within(stopEditing(), 120_000, "the last edits to arrive", problem);
      for (const [where, stop] of neighbours) tell(`another client meanwhile, ${where}`, await stop(), 100);
      if (edits.length > 0) tell("user edit during the backlog", edits, 150);
      else say("the backlog was gone before a user could edit: no figure for edits meanwhile");
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
  const config = await createAccount(cluster, neighbour);
  const client = createKubeClient(config, { userAgent: "bench-neighbour", flowControl: false });
  await client.create(configMaps, objectOfType(configMaps, neighbour, { data: { round: "0" } }));
  let round = 0;
  const stop = every(100, () => ask(client, ++round));
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
