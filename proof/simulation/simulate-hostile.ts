/** One seed of the simulation with a provider that means harm: two app clusters, the real agent for each, people at work. */
import { seededRandom } from "@klutch/kube-testing";
import type { SimulatedAgent } from "./agent.ts";
import { reasonOf } from "./deeds.ts";
import { HostileMonitor, putCanaries } from "./hostile-monitor.ts";
import { doHarm, lieAbout } from "./hostile-provider.ts";
import { type SimulationResult, Stage } from "./stage.ts";
import type { SimulatedTenant } from "./tenant.ts";
import { act, type Ledger, lostEdits } from "./users.ts";

export interface HostileOptions {
  /** Changes exports, too. Default true. */
  readonly withExports?: boolean | undefined;
}

const checkEveryMs = 5_000;
const quietMs = 30_000;
const providerObjectsLimit = 20;

interface Cluster {
  readonly tenant: SimulatedTenant;
  readonly ledger: Ledger;
  readonly agent: SimulatedAgent;
}

/** Runs one seed to its end. The same seed takes the same course. */
export async function simulateHostile(seed: number, options: HostileOptions = {}): Promise<SimulationResult> {
  const stage = new Stage(seed);
  const { client, clock, provider, random, record } = stage;
  const monitor = new HostileMonitor(stage, providerObjectsLimit);
  const clusters: Cluster[] = [];
  const tenants = await stage.prepare(async (tenant, index) => {
    await putCanaries(tenant.direct);
    const agent = stage.startAgent({
      tenant,
      number: index,
      faults: stage.faults(index),
      distort: lieAbout(seededRandom(seed + index * 2_000)),
      providerObjectsLimit,
      judge: (write) => monitor.wrote(tenant, write),
    });
    clusters.push({ tenant, ledger: new Map(), agent });
  });
  // Errors of a hostile provider's own controllers are its own affair.
  stage.startProvider({ next: 1 }, (error) => record(`a controller of the provider ended: ${String(error)}`));
  const fixture = { client, provider, tenants, random, withExports: options.withExports ?? true };
  const harm = async (): Promise<void> => {
    try {
      record(`the provider ${await doHarm(fixture)}`);
      monitor.noteProvider();
    } catch (error) {
      record(`the provider is refused: ${reasonOf(error, 120)}`);
    }
  };
  const work = async (): Promise<void> => {
    const cluster = clusters[Math.floor(random() * clusters.length)];
    if (cluster === undefined) return;
    const { tenant, ledger } = cluster;
    const done = await act(tenant, ledger, clock, random).catch(
      (error: unknown) => `cannot work: ${reasonOf(error)}`,
    );
    record(`${tenant.name}: ${done}`);
  };
  const check = (): void => tenants.forEach((tenant) => monitor.check(tenant));
  const trouble = stage.trouble(1_500, () => (random() < 0.6 ? harm() : work()));
  await clock.resolve(Promise.all([trouble, stage.watchOver(checkEveryMs, check)]));
  await clock.advance(quietMs);
  check();
  for (const { tenant, ledger } of clusters) lostEdits(tenant, ledger).forEach(stage.say);
  await stage.end(clusters.map(({ agent }) => agent));
  return stage.result();
}
