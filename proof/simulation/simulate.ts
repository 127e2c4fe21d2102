/**
 * One seed of the simulation: two app clusters, one control plane, the real agent for each, people and controllers at work, and
 * everything going wrong that can; then quiet, in which all promises must come true, and the end, at which nothing may be left.
 * The same seed takes the same course.
 */
import { apiServiceBindings, consumerNamespace } from "@klutch/api";
import { type DynamicObject, leases, recordsAt, secrets } from "@klutch/kube-core";
import { type KubeClient, type Random } from "@klutch/kube";
import {
  ApiServerModel,
  type FaultRates,
  seededFaults,
  type SeededFaults,
  seededRandom,
  VirtualClock,
} from "@klutch/kube-testing";
import { checkInvariants, type InvariantSnapshot } from "@klutch/sync";
import { type SimulatedAgent, startAgent, type Tamper } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { runProvider, serveNamespaces } from "./control-plane.ts";
import { judgeStatus, WorkLedger } from "./generations.ts";
import { Monitor, type Watched } from "./monitor.ts";
import { createTenant, prepareProvider, type SimulatedTenant } from "./tenant.ts";
import { objectsOf, snapshotOf } from "./snapshot.ts";
import { act, type Ledger, ledgerKey } from "./users.ts";

/** How a seed ended. */
export interface SimulationResult {
  readonly seed: number;
  /** Broken promises; empty when all was well. */
  readonly broken: readonly string[];
  /** What happened, in order, for finding out why. */
  readonly story: readonly string[];
  /** Writes that agents sent. */
  readonly writes: number;
  /** Virtual milliseconds. */
  readonly lasted: number;
}

const troubleMs = 60_000;
const quietLimitMs = 900_000;
const checkEveryMs = 5_000;
const tenants = 2;

/** How agents differ from those that are shipped. */
export interface SimulationOptions {
  readonly tamper?: Tamper | undefined;
  /** They read both objects of each pair each time, as the double of the fast store of pairs does. Default false. */
  readonly naiveStore?: boolean | undefined;
}

/** Runs one seed to its end. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const simulation = new Simulation(seed, options);
  try {
    await simulation.run();
  } catch (error) {
    simulation.broken.push(
      `the simulation itself failed: ${error instanceof Error ? (error.stack ?? "") : String(error)}`,
    );
  }
  return simulation.result();
}

interface Cluster extends Watched {
  readonly faults: SeededFaults;
  agents: SimulatedAgent[];
}

class Simulation {
  readonly seed: number;
  readonly broken: string[] = [];
  readonly #options: SimulationOptions;
  readonly #story: string[] = [];
  readonly #random: Random;
  readonly #clock: VirtualClock;
  readonly #provider: ApiServerModel;
  readonly #direct: KubeClient;
  readonly #clusters: Cluster[] = [];
  readonly #stop = new AbortController();
  #monitor: Monitor | undefined;
  readonly #stolen = new Set<string>();
  #writes = 0;
  #identities = 0;

  constructor(seed: number, options: SimulationOptions) {
    this.seed = seed;
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new VirtualClock({ tieBreak: seededRandom(seed + 1) });
    this.#provider = new ApiServerModel({ clock: this.#clock, uidSeed: seed * 10 });
    this.#direct = this.#provider.client({ clusterName: "provider-direct", user: "provider" });
  }

  result(): SimulationResult {
    const broken = [...this.broken, ...(this.#monitor?.broken ?? [])];
    return {
      seed: this.seed,
      broken,
      story: this.#story,
      writes: this.#writes,
      lasted: this.#clock.monotonic(),
    };
  }

  async run(): Promise<void> {
    await this.#clock.resolve(this.#prepare());
    const ledger = new WorkLedger();
    this.#monitor = new Monitor(this.#clock, this.#provider, this.#clusters, ledger);
    const { signal } = this.#stop;
    const running = [
      this.#monitor.run(this.#direct, signal),
      serveNamespaces(this.#direct, this.#clock, seededRandom(this.seed + 2), signal),
      runProvider(this.#direct, this.#clock, seededRandom(this.seed + 3), { next: 1, ledger }, signal),
    ];
    for (const work of running)
      work.catch((error: unknown) => this.broken.push(`an actor failed: ${String(error)}`));
    for (const cluster of this.#clusters) this.#start(cluster);
    await this.#clock.resolve(this.#trouble());
    this.#heal();
    await this.#untilQuiet("after the faults", () => [
      ...this.#unbound(),
      ...this.#violations(),
      ...this.#lostEdits(),
      ...this.#notReady(),
    ]);
    await this.#clock.resolve(this.#deleteEverything());
    await this.#untilQuiet("after deleting everything", () => this.#leftovers());
    this.#monitor.isUnbinding = true;
    await this.#clock.resolve(this.#unbindEverything());
    await this.#untilQuiet("after unbinding", () => this.#bindingsLeft());
    for (const { agents } of this.#clusters)
      for (const agent of agents) {
        if (agent.failure() !== undefined)
          this.broken.push(`${agent.identity} ended: ${String(agent.failure())}`);
        agent.kill();
      }
    this.#stop.abort(new Error("the simulation ended"));
    await this.#clock.advance(1_000);
  }

  async #prepare(): Promise<void> {
    await prepareProvider(this.#direct);
    for (let index = 1; index <= tenants; index++) {
      const tenant = await createTenant(index, this.seed, this.#clock, this.#direct);
      const ledger: Ledger = new Map();
      const faults = seededFaults(this.seed * 100 + index, this.#rates());
      this.#clusters.push({ tenant, ledger, faults, agents: [] });
    }
  }

  /** Some seeds are rough, some calm, some slow. */
  #rates(): FaultRates {
    const weight = this.#random() ** 2;
    return {
      error: 0.12 * weight,
      lostAnswer: 0.08 * weight,
      lostRequest: 0.05 * weight,
      partition: 0.01 * weight,
      watchDelay: 0.15 * weight,
      watchDrop: 0.04 * weight,
      watchDuplicate: 0.1 * weight,
      watchStall: 0.005 * weight,
      latencyMs: 2 + this.#random() * 60,
      maxWatchDelayMs: 3_000,
    };
  }

  #start(cluster: Cluster): void {
    const { tenant, faults } = cluster;
    const identity = `${tenant.name}-agent-${++this.#identities}`;
    cluster.agents.push(
      startAgent({
        tenant,
        provider: this.#provider,
        identity,
        faults,
        clock: this.#clock,
        random: seededRandom(this.seed + this.#identities * 1000),
        ...this.#options,
        onWrite: (write) => {
          this.#writes++;
          const { side, verb, type, namespace = "", name } = write;
          this.#record(`${identity} sends ${verb} ${type.plural} ${namespace}/${name} to the ${side}`);
          this.#monitor?.wrote(tenant, write);
        },
      }),
    );
    this.#record(`${identity} starts`);
  }

  #record(text: string): void {
    this.#story.push(`${(this.#clock.monotonic() / 1000).toFixed(3)} s: ${text}`);
  }

  /** People work while clusters, connections and agents fail. */
  async #trouble(): Promise<void> {
    const until = this.#clock.monotonic() + troubleMs;
    while (this.#clock.monotonic() < until) {
      const cluster = this.#clusters[Math.floor(this.#random() * tenants)];
      if (cluster === undefined) continue;
      if (this.#random() < 0.8) {
        const { tenant, ledger } = cluster;
        this.#record(`${tenant.name}: ${await act(tenant, ledger, this.#clock, this.#random)}`);
      } else this.#fail(cluster);
      // Bursts and pauses, not an even rhythm.
      await this.#clock.sleep(this.#random() < 0.5 ? this.#random() * 30 : this.#random() * 2_500);
    }
  }

  #fail(cluster: Cluster): void {
    const { tenant, faults } = cluster;
    const choice = this.#random();
    const link = `${tenant.name}-${this.#random() < 0.7 ? "provider" : "consumer"}`;
    if (choice < 0.3) {
      const agent = cluster.agents.shift();
      agent?.kill();
      this.#record(`${agent?.identity} is killed`);
      if (cluster.agents.length === 0) this.#start(cluster);
    } else if (choice < 0.4) {
      if (cluster.agents.length < 2) this.#start(cluster);
    } else if (choice < 0.6) {
      faults.partition(link, true);
      const ms = this.#random() * 25_000;
      this.#record(`${link} is cut for ${Math.round(ms)} ms`);
      this.#clock.schedule(ms, () => faults.partition(link, false));
    } else if (choice < 0.75) {
      this.#record(`${link}: connections are reset`);
      (link.endsWith("provider") ? this.#provider : tenant.consumer).disconnect(link);
    } else if (choice < 0.85) {
      this.#record("the history is compacted");
      tenant.consumer.compact();
      this.#provider.compact();
    } else if (choice < 0.95) {
      this.#steal(tenant);
    } else {
      const ms = (this.#random() - 0.5) * 600_000;
      this.#record(`the wall clock jumps by ${Math.round(ms)} ms`);
      this.#clock.skew(ms);
    }
  }

  /** Somebody takes the lease away, and gives it back after a while. */
  #steal({ name, direct }: SimulatedTenant): void {
    const ref = { namespace: consumerNamespace, name: consumerNamespace };
    const hold = async (): Promise<void> => {
      if (this.#stolen.has(name)) return;
      this.#stolen.add(name);
      this.#clock.schedule(60_000, () => this.#stolen.delete(name));
      this.#record(`${name}: the lease is stolen`);
      const spec = { holderIdentity: "thief", leaseDurationSeconds: 3600 };
      await direct.mergePatch(leases, ref, { spec });
      // Longer than a lease lasts: until then the robbed one may believe that it holds it.
      await this.#clock.sleep(16_000 + this.#random() * 10_000);
      // Only what is still stolen is given back: another leader may have come since.
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
    this.#record("no more faults");
  }

  async #untilQuiet(when: string, problems: () => readonly string[]): Promise<void> {
    const untilMs = this.#clock.monotonic() + quietLimitMs;
    let left = problems();
    while (left.length > 0 && this.#clock.monotonic() < untilMs) {
      await this.#clock.advance(checkEveryMs);
      left = problems();
    }
    this.#record(`${when}: ${left.length} problems`);
    for (const problem of left) this.broken.push(`convergence ${when}: ${problem}`);
  }

  /** Every binding must come to work. */
  #unbound(): string[] {
    return this.#clusters.flatMap(({ tenant }) =>
      objectsOf(tenant.consumer, apiServiceBindings)
        .filter(({ status }) => {
          const conditions = recordsAt(status, "conditions");
          return !conditions.some((one) => one["type"] === "Ready" && one["status"] === "True");
        })
        .map(
          ({ metadata, status }) =>
            `${tenant.name}: ${metadata.name} is not ready: ${JSON.stringify(status)}`,
        ),
    );
  }

  /** Every claim that lives must come to be current. */
  #notReady(): string[] {
    return this.#clusters.flatMap(({ tenant }) =>
      simulatedApis.flatMap(({ type }) =>
        objectsOf(tenant.consumer, type)
          .filter((claim) => judgeStatus(claim, true) === "inProgress")
          .map(
            ({ metadata, status }) =>
              `${tenant.name}: ${type.kind} ${metadata.name} is not ready: ${JSON.stringify(status)}`,
          ),
      ),
    );
  }

  #violations(): string[] {
    return this.#clusters.flatMap(({ tenant }) =>
      checkInvariants(this.#snapshot(tenant)).map(
        ({ invariant, side, object, message }) =>
          `${tenant.name} ${invariant}: ${side} ${object}: ${message}`,
      ),
    );
  }

  #snapshot(tenant: SimulatedTenant): InvariantSnapshot {
    const others = this.#clusters.filter((other) => other.tenant !== tenant).map((other) => other.tenant);
    return snapshotOf(tenant, others, this.#provider, this.#clock.now());
  }

  /** What the API server acknowledged must be what is there. */
  #lostEdits(): string[] {
    return this.#clusters.flatMap(({ tenant, ledger }) =>
      simulatedApis.flatMap((api) => {
        const present = new Map(
          objectsOf(tenant.consumer, api.type).map((object) => [
            ledgerKey(api, object.metadata.namespace, object.metadata.name ?? ""),
            object,
          ]),
        );
        return [...ledger].flatMap(([key, { spec }]) => {
          if (!key.startsWith(`${api.type.plural} `)) return [];
          const object = present.get(key);
          if (spec === undefined)
            return object === undefined ? [] : [`${tenant.name} ${key} was deleted and is there`];
          const isSame = object !== undefined && JSON.stringify(object.spec) === JSON.stringify(spec);
          return isSame ? [] : [`${tenant.name} ${key}: an acknowledged edit is lost`];
        });
      }),
    );
  }

  async #deleteEverything(): Promise<void> {
    for (const { tenant, ledger } of this.#clusters) {
      for (const { type } of simulatedApis) {
        for (const { metadata } of (await tenant.direct.list<DynamicObject>(type)).items) {
          const { namespace, name = "" } = metadata;
          await tenant.direct.delete(type, namespace === undefined ? { name } : { namespace, name });
        }
      }
      for (const entry of ledger.values()) entry.deletedAt = this.#clock.monotonic();
    }
  }

  #leftovers(): string[] {
    const all = [this.#provider, ...this.#clusters.map(({ tenant }) => tenant.consumer)];
    return all.flatMap((model, index) =>
      [...simulatedApis.map(({ type }) => type), secrets].flatMap((type) =>
        objectsOf(model, type)
          .filter(({ metadata }) => type !== secrets || metadata.name?.endsWith("-creds") === true)
          .map(
            ({ metadata }) =>
              `${index === 0 ? "provider" : `consumer-${index}`} still has ${type.plural} ${metadata.namespace ?? ""}/${metadata.name}`,
          ),
      ),
    );
  }

  async #unbindEverything(): Promise<void> {
    for (const { tenant } of this.#clusters)
      for (const { name } of simulatedApis)
        await tenant.direct.delete(apiServiceBindings, { namespace: consumerNamespace, name });
  }

  #bindingsLeft(): string[] {
    return this.#clusters.flatMap(({ tenant }) =>
      tenant.consumer.objects(apiServiceBindings).map(() => `${tenant.name} has a binding that does not go`),
    );
  }
}
