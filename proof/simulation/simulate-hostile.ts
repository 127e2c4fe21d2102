/** One seed of the simulation with a provider that means harm: two app clusters, the real agent for each, people at work. */
import type { Random } from "@klutch/kube";
import { ApiServerModel, seededFaults, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { type SimulatedAgent, startAgent } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { runProvider, serveNamespaces } from "./control-plane.ts";
import { HostileMonitor, putCanaries } from "./hostile-monitor.ts";
import { doHarm, lieAbout } from "./hostile-provider.ts";
import type { SimulationResult } from "./simulate.ts";
import { objectsOf } from "./snapshot.ts";
import { createTenant, prepareProvider, type SimulatedTenant } from "./tenant.ts";
import { act, type Ledger, ledgerKey } from "./users.ts";

/** How the provider is hostile. */
export interface HostileOptions {
  /** Changes exports, too. Default true. */
  readonly withExports?: boolean | undefined;
}

const tenants = 2;
const checkEveryMs = 5_000;
const troubleMs = 60_000;
const quietMs = 30_000;
const providerObjectsLimit = 20;
/** Faults that happen on a good day. */
export const calm = {
  error: 0.01,
  lostAnswer: 0.01,
  lostRequest: 0,
  partition: 0,
  watchDelay: 0.05,
  watchDrop: 0.01,
  watchDuplicate: 0.02,
  watchStall: 0,
  latencyMs: 5,
  maxWatchDelayMs: 1_000,
};

interface Cluster {
  readonly tenant: SimulatedTenant;
  readonly ledger: Ledger;
  readonly agent: SimulatedAgent;
}

/** Runs one seed to its end. The same seed takes the same course. */
export async function simulateHostile(seed: number, options: HostileOptions = {}): Promise<SimulationResult> {
  const clock = new VirtualClock({ tieBreak: seededRandom(seed + 1) });
  const provider = new ApiServerModel({ clock, uidSeed: seed * 10 });
  const client = provider.client({ clusterName: "provider-direct", user: "provider" });
  const monitor = new HostileMonitor(clock, provider, providerObjectsLimit);
  const stop = new AbortController();
  const { signal } = stop;
  const story: string[] = [];
  let writes = 0;
  const record = (text: string): void => {
    story.push(`${(clock.monotonic() / 1000).toFixed(3)} s: ${text}`);
  };
  const start = (tenant: SimulatedTenant, index: number): SimulatedAgent =>
    startAgent({
      tenant,
      provider,
      identity: `${tenant.name}-agent`,
      faults: seededFaults(seed * 100 + index, calm),
      clock,
      random: seededRandom(seed + index * 1_000),
      distort: lieAbout(seededRandom(seed + index * 2_000)),
      providerObjectsLimit,
      onWrite: (write) => {
        writes++;
        const { side, verb, type, namespace = "", name } = write;
        record(`${tenant.name} sends ${verb} ${type.plural} ${namespace}/${name} to the ${side}`);
        monitor.wrote(tenant, write);
      },
    });
  const clusters: Cluster[] = [];
  const prepare = async (): Promise<void> => {
    await prepareProvider(client);
    for (let index = 1; index <= tenants; index++) {
      const tenant = await createTenant(index, seed, clock, client);
      await putCanaries(tenant.direct);
      clusters.push({ tenant, ledger: new Map(), agent: start(tenant, index) });
    }
  };
  await clock.resolve(prepare());
  // What a hostile provider's own controllers trip over is its own affair.
  const background = [
    serveNamespaces(client, clock, seededRandom(seed + 2), signal),
    runProvider(client, clock, seededRandom(seed + 3), { next: 1 }, signal),
  ];
  for (const work of background)
    work.catch((error: unknown) => record(`a controller of the provider ended: ${String(error)}`));
  const random = seededRandom(seed);
  const world = {
    client,
    provider,
    tenants: clusters.map(({ tenant }) => tenant),
    random,
    withExports: options.withExports ?? true,
  };
  const harm = async (): Promise<void> => {
    try {
      record(`the provider ${await doHarm(world)}`);
      monitor.noteProvider();
    } catch (error) {
      record(
        `the provider is refused: ${error instanceof Error ? error.message.slice(0, 120) : String(error)}`,
      );
    }
  };
  const trouble = async (): Promise<void> => {
    const until = clock.monotonic() + troubleMs;
    while (clock.monotonic() < until) {
      if (random() < 0.6) await harm();
      else await work(clusters, clock, random, record);
      await clock.sleep(random() < 0.5 ? random() * 30 : random() * 1_500);
    }
  };
  await clock.resolve(Promise.all([trouble(), watchOver(monitor, clusters, clock)]));
  await clock.advance(quietMs);
  for (const { tenant, ledger, agent } of clusters) {
    monitor.check(tenant);
    monitor.broken.push(...lostEdits(tenant, ledger));
    if (agent.failure() !== undefined)
      monitor.broken.push(`${agent.identity} ended: ${String(agent.failure())}`);
    agent.kill();
  }
  stop.abort(new Error("the simulation ended"));
  await clock.advance(1_000);
  return { seed, broken: [...new Set(monitor.broken)], story, writes, lasted: clock.monotonic() };
}

async function work(
  clusters: readonly Cluster[],
  clock: VirtualClock,
  random: Random,
  record: (text: string) => void,
): Promise<void> {
  const cluster = clusters[Math.floor(random() * clusters.length)];
  if (cluster === undefined) return;
  const { tenant, ledger } = cluster;
  const done = await act(tenant, ledger, clock, random).catch(
    (error: unknown) => `cannot work: ${error instanceof Error ? error.message : String(error)}`,
  );
  record(`${tenant.name}: ${done}`);
}

async function watchOver(
  monitor: HostileMonitor,
  clusters: readonly Cluster[],
  clock: VirtualClock,
): Promise<void> {
  for (let passed = 0; passed < troubleMs; passed += checkEveryMs) {
    await clock.sleep(checkEveryMs);
    for (const { tenant } of clusters) monitor.check(tenant);
  }
}

/** What the app cluster acknowledged stays as it is, whatever the provider does. */
export function lostEdits({ name, consumer }: SimulatedTenant, ledger: Ledger): string[] {
  return simulatedApis.flatMap((api) => {
    const present = new Map(
      objectsOf(consumer, api.type).map((object) => [
        ledgerKey(api, object.metadata.namespace, object.metadata.name ?? ""),
        JSON.stringify(object.spec),
      ]),
    );
    return [...ledger].flatMap(([key, { spec }]) =>
      spec === undefined ||
      !key.startsWith(`${api.type.plural} `) ||
      present.get(key) === JSON.stringify(spec)
        ? []
        : [`${name} ${key}: an acknowledged edit is lost`],
    );
  });
}
