/** One seed: actions under faults, then peace, then the judgement, then everything is deleted. */
import { setTimeout as sleep } from "node:timers/promises";
import { consumerNamespace } from "@klutch/api";
import { type DynamicObject, leases, secrets } from "@klutch/kube-core";
import { ApiError, TransportError } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { type Actors, deleteClaim, finishDeletions, isOperation, operate } from "./actors.ts";
import { auditPosition, readAudit, thief, writesWithoutLease } from "./audit.ts";
import { judge, leftovers, read } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import { observe } from "./observer.ts";
import { type Action, formatPlan, type Plan, quietActions } from "./plan.ts";
import { freeLease, type Fixture } from "./fixture.ts";

/** Figures of a seed that went well. Times in milliseconds. */
export interface SeedResult {
  readonly actionsMs: number;
  /** Time from the end of the faults until every check held. */
  readonly settleMs: number;
  readonly cleanUpMs: number;
  readonly claims: number;
  readonly agentWrites: number;
  /** Number of times that an agent ended by itself. */
  readonly agentEnds: number;
  /** Writes whose process is known, so that the lease was checked. */
  readonly knownWrites: number;
  /** Each action with its time and outcome. */
  readonly protocol: readonly string[];
}

const settleLimitMs = 60_000;
/** Longer than a leader's renew deadline: a robbed one must have stopped before the next one starts. */
const theftSeconds = 11;

/** Runs the plan in the fixture. Throws with plan, protocol and the agents' last words when a promise is broken. */
export async function runSeed(fixture: Fixture, plan: Plan): Promise<SeedResult> {
  const ledger = new Ledger(plan.seed);
  const started = performance.now();
  const protocol: string[] = [];
  const say = (text: string): void => {
    protocol.push(
      `${new Date().toISOString().slice(11, 23)} +${Math.round(performance.now() - started)} ${text}`,
    );
  };
  const run = new SeedRun(fixture, plan, ledger, say);
  try {
    return { ...(await run.all()), protocol };
  } catch (error) {
    const logs = await Promise.all(
      fixture.agents.map(async (agent, index) => {
        return `agent ${"ab"[index]}: ${await agent.health()}\n${agent.log(150)}`;
      }),
    );
    const text = [formatPlan(plan), "", ...protocol, "", ...logs, "", String(error)].join("\n");
    throw new Error(`seed ${plan.seed} failed:\n${text}`, { cause: error });
  } finally {
    await run.end();
  }
}

class SeedRun {
  readonly #fixture: Fixture;
  readonly #plan: Plan;
  readonly #ledger: Ledger;
  readonly #say: (text: string) => void;
  readonly #actors: Actors;
  readonly #background = new Set<Promise<void>>();

  constructor(fixture: Fixture, plan: Plan, ledger: Ledger, say: (text: string) => void) {
    this.#fixture = fixture;
    this.#plan = plan;
    this.#ledger = ledger;
    this.#say = say;
    const { consumer, provider } = fixture.sides;
    this.#actors = { plan, ledger, consumer: consumer.client, provider: provider.client, say };
  }

  async all(): Promise<Omit<SeedResult, "protocol">> {
    const { sides, agents, runs } = this.#fixture;
    const logs = [sides.consumer.auditLog, sides.provider.auditLog] as const;
    const from = await Promise.all(logs.map(auditPosition));
    const endsBefore = agents.reduce((sum, { ends }) => sum + ends, 0);
    this.#fixture.route(this.#plan);
    await freeLease(this.#fixture);
    await agents[0].start();
    const times = [performance.now()];
    {
      await using _observing = observe(this.#fixture, this.#ledger);
      const { actions } = this.#plan;
      for (const action of actions.slice(0, quietActions)) await this.#act(action);
      await this.#until("the first claims", async () => judge(await read(this.#fixture), this.#ledger));
      for (const action of actions.slice(quietActions)) await this.#act(action);
      await this.#peace();
      times.push(performance.now());
      await this.#until("convergence", async () => judge(await read(this.#fixture), this.#ledger));
      times.push(performance.now());
      await this.#until("nothing to be left", async () => {
        await this.#deleteAll();
        return leftovers(await read(this.#fixture));
      });
      times.push(performance.now());
    }
    const [consumer = [], provider = []] = await Promise.all(
      logs.map((log, index) => readAudit(log, from[index] ?? 0)),
    );
    writesWithoutLease(consumer, provider, runs.all).forEach((problem) => this.#ledger.report(problem));
    if (this.#ledger.problems.length > 0) throw new Error(this.#ledger.problems.join("\n"));
    const [begin = 0, faultsOver = 0, settled = 0, cleaned = 0] = times;
    const writes = [...consumer, ...provider].filter(({ resource }) => resource !== "leases");
    return {
      actionsMs: faultsOver - begin,
      settleMs: settled - faultsOver,
      cleanUpMs: cleaned - settled,
      claims: this.#ledger.incarnations.filter(({ isCreated }) => isCreated).length,
      agentWrites: writes.length,
      knownWrites: writes.filter((write) => runs.all.some(({ address }) => address === write.address)).length,
      agentEnds: agents.reduce((sum, { ends }) => sum + ends, 0) - endsBefore,
    };
  }

  /** Leaves the fixture ready for the next seed, however this one ended. */
  async end(): Promise<void> {
    const { sides, agents } = this.#fixture;
    for (const { wire } of Object.values(sides)) wire.heal();
    await Promise.allSettled(this.#background);
    await Promise.all(agents.map((agent) => agent.stop()));
  }

  async #act(action: Action): Promise<void> {
    await sleep(action.pauseMs);
    if (isOperation(action.do)) await operate(this.#actors, action);
    else {
      this.#say(`${action.do} ${action.cluster} ${action.forMs} ms`);
      await this.#fault(action);
    }
  }

  async #fault({ do: kind, cluster, forMs, dice }: Action): Promise<void> {
    const side = this.#fixture.sides[cluster];
    const [first, second] = this.#fixture.agents;
    const { wire, watchProxy } = side;
    const isHttp = this.#plan.route[cluster] === "http";
    const faults: Readonly<Partial<Record<Action["do"], () => void | Promise<void>>>> = {
      killAgent: async () => {
        await first.kill();
        this.#later(forMs, () => first.start());
      },
      killApi: () => side.crash("apiserver", forMs),
      killEtcd: () => side.crash("etcd", forMs),
      cut: () => wire.cut(),
      refuse: () => {
        wire.refuse(true);
        wire.cut();
        this.#later(forMs, () => wire.refuse(false));
      },
      blackHole: () => {
        wire.blackHole(true);
        this.#later(forMs, () => wire.blackHole(false));
      },
      delay: () => {
        wire.delay(20 + Math.round(dice * 200));
        this.#later(forMs, () => wire.delay(0));
      },
      truncate: () => (isHttp && dice < 0.6 ? watchProxy : wire).truncate(),
      answer: () => {
        watchProxy.answer(dice < 0.3 ? 410 : dice < 0.6 ? 429 : dice < 0.8 ? 500 : 503, 2);
        // Only a new watch can be answered.
        if (isHttp) watchProxy.drop();
      },
      secondAgent: () => second.start(),
      stopSecond: () => (dice < 0.5 ? second.kill() : second.stop()),
      takeLease: () => this.#takeLease(),
      isolateAgent: () => {
        const { wire: toLease } = this.#fixture.sides.consumer;
        toLease.isolate(first.identity);
        this.#later(forMs, () => toLease.isolate(undefined));
      },
    };
    const fault = faults[kind];
    if (fault === undefined) throw new Error(`no fault ${kind}`);
    await fault();
  }

  async #takeLease(): Promise<void> {
    const ref = { namespace: consumerNamespace, name: consumerNamespace };
    const spec = { holderIdentity: thief, leaseDurationSeconds: theftSeconds };
    await this.#fixture.sides.consumer.client.mergePatch(leases, ref, { spec }).catch((error: unknown) => {
      if (!(error instanceof ApiError || error instanceof TransportError)) throw error;
      this.#say(`the lease was not taken: ${error.message}`);
    });
  }

  #later(afterMs: number, undo: () => void | Promise<void>): void {
    const waiting = sleep(afterMs)
      .then(undo)
      .finally(() => this.#background.delete(waiting));
    waiting.catch(() => undefined);
    this.#background.add(waiting);
  }

  /** Ends every fault. */
  async #peace(): Promise<void> {
    const { sides, agents } = this.#fixture;
    await Promise.all(this.#background);
    for (const { wire } of Object.values(sides)) wire.heal();
    await Promise.all(Object.values(sides).map((side) => side.untilUp()));
    await agents[0].start();
    this.#say("peace");
  }

  async #until(what: string, problems: () => Promise<readonly string[]>): Promise<void> {
    let last: readonly string[] = [];
    const isOver = async (): Promise<boolean> => {
      if (this.#ledger.problems.length > 0) return true;
      await finishDeletions(this.#fixture.sides.provider.client);
      last = await problems();
      return last.length === 0;
    };
    try {
      await waitFor(what, isOver, { timeoutMs: settleLimitMs, intervalMs: 200 });
    } catch (error) {
      throw new Error(`${String(error)}\n${last.join("\n")}`, { cause: error });
    }
    if (this.#ledger.problems.length > 0) throw new Error(this.#ledger.problems.join("\n"));
    this.#say(what);
  }

  async #deleteAll(): Promise<void> {
    const { claims, sources } = await read(this.#fixture);
    const alive = (object: DynamicObject): boolean => object.metadata.deletionTimestamp === undefined;
    for (const claim of claims.filter(alive)) await deleteClaim(this.#actors, claim);
    for (const { metadata } of sources.filter(alive)) {
      const { namespace, name = "" } = metadata;
      await this.#actors.provider.delete(secrets, { namespace, name });
    }
  }
}
