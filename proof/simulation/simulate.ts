/**
 * One seed of the simulation: two app clusters, one control plane, the real agent for each, people and controllers at work, and
 * everything going wrong that can; then quiet, in which all promises must come true, and the end, at which nothing may be left.
 * The same seed takes the same course.
 */
import { apiServiceBindings, consumerNamespace } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  isTrue,
  leases,
  refOfObject,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import type { ApiServerModel, FaultRates, SeededFaults } from "@klutch/kube-testing";
import { isMarked } from "@klutch/sync";
import type { SimulatedAgent, Tamper } from "./agent.ts";
import { objectOf, simulatedApis } from "./apis.ts";
import { placeOf } from "./control-plane.ts";
import { judgeStatus, WorkLedger } from "./generations.ts";
import { Monitor, type Watched } from "./monitor.ts";
import { objectsOf, violations } from "./snapshot.ts";
import { type SimulationResult, Stage } from "./stage.ts";
import { createClaim, type SimulatedTenant, workNamespaces } from "./tenant.ts";
import { act, lostDeletes, lostEdits } from "./users.ts";

/** An agent that comes back waits for a lease (15 s), connections that are silent (90 s), its retries (30 s) and twice for an orphan's grace. */
const leftBehindLimitMs = 180_000;

/** Differences between the simulated agents and the shipped ones. */
export interface SimulationOptions {
  readonly tamper?: Tamper | undefined;
  /** Reads both objects of each pair each time, as the double of the fast store of pairs does. Default false. */
  readonly naiveStore?: boolean | undefined;
}

/** Runs one seed to its end. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const simulation = new Simulation(seed, options);
  return await simulation.stage.run(() => simulation.run());
}

interface Cluster extends Watched {
  readonly faults: SeededFaults;
  agents: SimulatedAgent[];
}

class Simulation {
  readonly stage: Stage;
  readonly #options: SimulationOptions;
  readonly #clusters: Cluster[] = [];
  readonly #work = new WorkLedger();
  readonly #monitor: Monitor;
  readonly #stolen = new Set<string>();
  #identities = 0;

  constructor(seed: number, options: SimulationOptions) {
    this.stage = new Stage(seed);
    this.#options = options;
    this.#monitor = new Monitor(this.stage, this.#clusters, this.#work);
  }

  async run(): Promise<void> {
    const { stage } = this;
    const { clock } = stage;
    await stage.prepare((tenant, index) => {
      const faults = stage.faults(index, this.#rates());
      this.#clusters.push({ tenant, ledger: new Map(), faults, agents: [] });
    });
    const onEnd = (error: unknown): void => stage.say(`an actor failed: ${String(error)}`);
    this.#monitor.run(stage.signal).catch(onEnd);
    stage.startProvider({ next: 1, ledger: this.#work }, onEnd);
    for (const cluster of this.#clusters) this.#start(cluster);
    await clock.resolve(stage.trouble(2_500, () => this.#happen()));
    this.#heal();
    const others = (tenant: SimulatedTenant): readonly SimulatedTenant[] =>
      this.#clusters.map((other) => other.tenant).filter((other) => other !== tenant);
    const each = (list: (cluster: Cluster) => readonly string[]): readonly string[] =>
      this.#clusters.flatMap(list);
    const healedAt = clock.monotonic();
    const judged = (): readonly string[] => {
      const found = each(({ tenant }) => violations(tenant, others(tenant), stage));
      if (found.some((one) => one.includes(" Orphan: "))) stage.leftBehindMs = clock.monotonic() - healedAt;
      return found;
    };
    await stage.untilQuiet("after the faults", () => [
      ...each(({ tenant }) => notReady(tenant, apiServiceBindings, isBound)),
      ...judged(),
      ...each(({ tenant, ledger }) => [...lostEdits(tenant, ledger), ...lostDeletes(tenant, ledger)]),
      ...each(({ tenant }) => simulatedApis.flatMap(({ type }) => notReady(tenant, type, isCurrent))),
    ]);
    if (stage.leftBehindMs > leftBehindLimitMs)
      stage.say(`nothing is left behind: something was, for ${stage.leftBehindMs} ms after the last fault`);
    await clock.resolve(this.#deleteEverything());
    await stage.untilQuiet("after deleting everything", () => [
      ...leftovers("provider", stage.provider),
      ...each(({ tenant }) => leftovers(tenant.name, tenant.consumer)),
    ]);
    this.#monitor.isUnbinding = true;
    await clock.resolve(this.#unbindEverything());
    await stage.untilQuiet("after unbinding", () =>
      each(({ tenant: { name, consumer } }) => [
        ...consumer.objects(apiServiceBindings).map(() => `${name} has a binding that does not go`),
        ...simulatedApis.flatMap(({ type }) =>
          objectsOf(consumer, type)
            .filter(isMarked)
            .map(({ metadata }) => `${name}: ${placeOf(type, metadata)} was marked and is not released`),
        ),
      ]),
    );
    await stage.end(this.#clusters.flatMap(({ agents }) => agents));
  }

  /** Some seeds are rough, some calm, some slow. */
  #rates(): FaultRates {
    const { random } = this.stage;
    const weight = random() ** 2;
    return {
      error: 0.12 * weight,
      lostAnswer: 0.08 * weight,
      lostRequest: 0.05 * weight,
      partition: 0.01 * weight,
      watchDelay: 0.15 * weight,
      watchDrop: 0.04 * weight,
      watchDuplicate: 0.1 * weight,
      watchStall: 0.005 * weight,
      latencyMs: 2 + random() * 60,
      maxWatchDelayMs: 3_000,
    };
  }

  #start(cluster: Cluster): void {
    const { tenant, faults } = cluster;
    const number = ++this.#identities;
    const identity = `${tenant.name}-agent-${number}`;
    const judge = this.#monitor.wrote.bind(this.#monitor, tenant);
    cluster.agents.push(
      this.stage.startAgent({ ...this.#options, tenant, identity, actor: identity, number, faults, judge }),
    );
    this.stage.record(`${identity} starts`);
  }

  /** People work while clusters, connections and agents fail. */
  async #happen(): Promise<void> {
    const { clock, random, record } = this.stage;
    const cluster = this.#clusters[Math.floor(random() * this.#clusters.length)];
    if (cluster === undefined) return;
    const { tenant, ledger } = cluster;
    if (random() < 0.8) record(`${tenant.name}: ${await act(tenant, ledger, clock, random)}`);
    else this.#fail(cluster);
  }

  #fail(cluster: Cluster): void {
    const { clock, provider, random, record } = this.stage;
    const { tenant, faults } = cluster;
    const choice = random();
    const link = `${tenant.name}-${random() < 0.7 ? "provider" : "consumer"}`;
    if (choice < 0.3) {
      const agent = cluster.agents.shift();
      agent?.kill();
      record(`${agent?.identity} is killed`);
      if (cluster.agents.length === 0) this.#start(cluster);
    } else if (choice < 0.4) {
      if (cluster.agents.length < 2) this.#start(cluster);
    } else if (choice < 0.6) {
      faults.partition(link, true);
      const ms = random() * 25_000;
      record(`${link} is cut for ${Math.round(ms)} ms`);
      clock.schedule(ms, () => faults.partition(link, false));
    } else if (choice < 0.75) {
      record(`${link}: connections are reset`);
      (link.endsWith("provider") ? provider : tenant.consumer).disconnect(link);
    } else if (choice < 0.85) {
      record("the history is compacted");
      tenant.consumer.compact();
      provider.compact();
    } else if (choice < 0.95) {
      this.#steal(tenant);
    } else {
      const ms = (random() - 0.5) * 600_000;
      record(`the wall clock jumps by ${Math.round(ms)} ms`);
      clock.skew(ms);
    }
  }

  /** Somebody takes the lease away, and gives it back after a while. */
  #steal({ name, direct }: SimulatedTenant): void {
    const { clock, random, record } = this.stage;
    const ref = { namespace: consumerNamespace, name: consumerNamespace };
    const hold = async (): Promise<void> => {
      if (this.#stolen.has(name)) return;
      this.#stolen.add(name);
      clock.schedule(60_000, () => this.#stolen.delete(name));
      record(`${name}: the lease is stolen`);
      const spec = { holderIdentity: "thief", leaseDurationSeconds: 3600 };
      await direct.mergePatch(leases, ref, { spec });
      // Longer than a lease lasts: until then the robbed one may believe that it holds it.
      await clock.sleep(16_000 + random() * 10_000);
      // Gives back only a lease that is still stolen: another leader may have come since.
      await direct.jsonPatch(leases, ref, [
        { op: "test", path: "/spec/holderIdentity", value: "thief" },
        { op: "replace", path: "/spec/holderIdentity", value: "" },
      ]);
    };
    // There may be no lease yet.
    hold().catch(() => undefined);
  }

  #heal(): void {
    for (const cluster of this.#clusters) {
      cluster.faults.stop();
      if (cluster.agents.length === 0) this.#start(cluster);
    }
    this.stage.record("no more faults");
  }

  async #deleteEverything(): Promise<void> {
    for (const { tenant, ledger } of this.#clusters) {
      for (const { type } of simulatedApis)
        for (const object of (await tenant.direct.list<DynamicObject>(type)).items)
          await tenant.direct.delete(type, refOfObject(object));
      for (const entry of ledger.values()) entry.deletedAt = this.stage.clock.monotonic();
    }
  }

  /** Meanwhile people create claims; those that their cluster still marks must not stay marked. */
  async #unbindEverything(): Promise<void> {
    const { clock, random } = this.stage;
    for (const { tenant } of this.#clusters)
      for (const api of simulatedApis) {
        const claim = objectOf(api, workNamespaces[0] ?? "", "late", { size: 1 });
        const created = createClaim(tenant, api, claim, clock, random);
        await tenant.direct.delete(apiServiceBindings, { namespace: consumerNamespace, name: api.name });
        await created;
      }
  }
}

const isBound = (binding: DynamicObject): boolean => isTrue(conditionsOf(binding), "Ready");
const isCurrent = (claim: DynamicObject): boolean => judgeStatus(claim, true) !== "inProgress";

/** Lists the claims and their Secrets that are still there. */
function leftovers(where: string, model: ApiServerModel): string[] {
  return [...simulatedApis.map(({ type }) => type), secrets].flatMap((type) =>
    objectsOf(model, type)
      .filter(({ metadata }) => type !== secrets || metadata.name?.endsWith("-creds") === true)
      .map(({ metadata }) => `${where} still has ${placeOf(type, metadata)}`),
  );
}

/** Lists the objects of an app cluster that are not ready. */
function notReady(
  { name, consumer }: SimulatedTenant,
  type: ResourceType,
  isReady: (object: DynamicObject) => boolean,
): string[] {
  return objectsOf(consumer, type)
    .filter((object) => !isReady(object))
    .map(
      ({ metadata, status }) =>
        `${name}: ${type.kind} ${metadata.name} is not ready: ${JSON.stringify(status)}`,
    );
}
