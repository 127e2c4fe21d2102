/** Holds what every simulation stands on: virtual time, the provider with all that works on it, the real agents, and the story of a seed. */
import type { KubeClient, Random } from "@klutch/kube";
import {
  ApiServerModel,
  type FaultRates,
  seededFaults,
  type SeededFaults,
  seededRandom,
  VirtualClock,
} from "@klutch/kube-testing";
import { type AgentOptions, type AgentWrite, type SimulatedAgent, startAgent } from "./agent.ts";
import { runProvider, serveNamespaces, type StatusCounter } from "./control-plane.ts";
import { createTenant, prepareProvider, type SimulatedTenant } from "./tenant.ts";

/** Tells how a seed ended. */
export interface SimulationResult {
  readonly seed: number;
  /** Broken promises; empty when all was well. */
  readonly broken: readonly string[];
  /** Lists what happened, in order, for finding out why. */
  readonly story: readonly string[];
  /** Counts the writes that agents sent. */
  readonly writes: number;
  /** Virtual milliseconds. */
  readonly lasted: number;
  /** Virtual milliseconds after the last fault until the provider had nothing left of claims that no longer exist. */
  readonly leftBehindMs: number;
}

/** One agent of a tenant. */
export interface StageAgent extends Partial<AgentOptions> {
  readonly tenant: SimulatedTenant;
  readonly faults: SeededFaults;
  /** Decides what it draws: another number for every agent of a seed. */
  readonly number: number;
  /** Names it in the story. Default: the tenant. */
  readonly actor?: string | undefined;
  /** Judges a write just before it is sent. */
  readonly judge: (write: AgentWrite) => void;
}

const quietLimitMs = 900_000;
const checkEveryMs = 5_000;

/** Virtual milliseconds in which things go wrong. */
const troubleMs = 60_000;

/** Faults that happen on a good day. */
const calm: FaultRates = {
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

/** Holds one seed's fixture. The same seed takes the same course. */
export class Stage {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly provider: ApiServerModel;
  /** Sees no faults: the provider's own parts use it. */
  readonly client: KubeClient;
  readonly random: Random;
  readonly #broken: string[] = [];
  readonly #story: string[] = [];
  readonly #stop = new AbortController();
  #writes = 0;
  /** See `SimulationResult`. */
  leftBehindMs = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.random = seededRandom(seed);
    this.clock = new VirtualClock({ tieBreak: seededRandom(seed + 1) });
    this.provider = new ApiServerModel({ clock: this.clock, uidSeed: seed * 10 });
    this.client = this.provider.client({ clusterName: "the provider", user: "provider" });
  }

  /** Aborts when the simulation ends. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Adds a line to the story. */
  readonly record = (text: string): void => void this.#story.push(this.#at(text));

  /** Reports a broken promise. */
  readonly say = (text: string): void => void this.#broken.push(this.#at(text));

  /** Prepares the provider and two app clusters, one after the other; `also` adds to an app cluster when it is there. */
  prepare(
    also: (tenant: SimulatedTenant, index: number) => Promise<void> | void,
  ): Promise<readonly [SimulatedTenant, SimulatedTenant]> {
    const tenant = async (index: number): Promise<SimulatedTenant> => {
      const made = await createTenant(index, this.seed, this.clock, this.client);
      await also(made, index);
      return made;
    };
    const all = async (): Promise<readonly [SimulatedTenant, SimulatedTenant]> => {
      await prepareProvider(this.client);
      return [await tenant(1), await tenant(2)];
    };
    return this.clock.resolve(all());
  }

  /** Returns the faults between one app cluster's agents and both servers. */
  faults(index: number, rates: FaultRates = calm): SeededFaults {
    return seededFaults(this.seed * 100 + index, rates);
  }

  /** Starts the backend's and the controllers' part; `onEnd` learns of one that fails. They work until `signal` aborts. Default: to the end. */
  startProvider(
    counter: StatusCounter,
    onEnd: (error: unknown) => void,
    signal: AbortSignal = this.signal,
  ): void {
    const { client, clock, seed } = this;
    serveNamespaces(client, clock, seededRandom(seed + 2), signal).catch(onEnd);
    runProvider(client, clock, seededRandom(seed + 3), counter, signal).catch(onEnd);
  }

  /** Starts an agent, whose writes are counted and told. */
  startAgent(options: StageAgent): SimulatedAgent {
    const { tenant, number, judge, actor = tenant.name } = options;
    return startAgent({
      identity: `${tenant.name}-agent`,
      ...options,
      provider: this.provider,
      clock: this.clock,
      random: seededRandom(this.seed + number * 1_000),
      onWrite: (write) => {
        this.#writes++;
        const { side, verb, type, namespace = "", name } = write;
        this.record(`${actor} sends ${verb} ${type.plural} ${namespace}/${name} to the ${side}`);
        judge(write);
      },
    });
  }

  /** Lets things happen for a virtual minute: in bursts and pauses, not in an even rhythm. */
  async trouble(longestPauseMs: number, happen: () => Promise<void>): Promise<void> {
    const { clock, random } = this;
    const until = clock.monotonic() + troubleMs;
    while (clock.monotonic() < until) {
      await happen();
      await clock.sleep(random() < 0.5 ? random() * 30 : random() * longestPauseMs);
    }
  }

  /** Checks again and again during the trouble. */
  async watchOver(everyMs: number, check: () => void): Promise<void> {
    for (let passed = 0; passed < troubleMs; passed += everyMs) {
      await this.clock.sleep(everyMs);
      check();
    }
  }

  /** Lets time pass until there are no problems, fifteen minutes at most. Those that are left are broken promises. */
  async untilQuiet(when: string, problems: () => readonly string[]): Promise<void> {
    const { clock } = this;
    const untilMs = clock.monotonic() + quietLimitMs;
    let left = problems();
    while (left.length > 0 && clock.monotonic() < untilMs) {
      await clock.advance(checkEveryMs);
      left = problems();
    }
    this.record(`${when}: ${left.length} problems`);
    for (const problem of left) this.say(`convergence ${when}: ${problem}`);
  }

  /** Runs the simulation's course, and returns how it went. A course that throws is a broken promise. */
  async run(course: () => Promise<void>): Promise<SimulationResult> {
    try {
      await course();
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? "") : String(error);
      this.say(`the simulation itself failed: ${text}`);
    }
    return this.result();
  }

  /** Ends everything. An agent that ended by itself is a broken promise. */
  async end(agents: readonly SimulatedAgent[]): Promise<void> {
    for (const agent of agents) {
      if (agent.failure() !== undefined) this.say(`${agent.identity} ended: ${String(agent.failure())}`);
      agent.kill();
    }
    this.#stop.abort(new Error("the simulation ended"));
    await this.clock.advance(1_000);
  }

  /** Returns how it went. */
  result(): SimulationResult {
    const broken = [...new Set(this.#broken)];
    return {
      seed: this.seed,
      broken,
      story: this.#story,
      writes: this.#writes,
      lasted: this.clock.monotonic(),
      leftBehindMs: this.leftBehindMs,
    };
  }

  #at(text: string): string {
    return `${(this.clock.monotonic() / 1000).toFixed(3)} s: ${text}`;
  }
}
