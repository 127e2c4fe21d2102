/** One seed: actions under faults, then peace, then the judgement, then everything is deleted. */
import { setTimeout as sleep } from "node:timers/promises";
import { consumerNamespace } from "@klutch/api";
import { isDeleting, leases, refOfObject, secrets } from "@klutch/kube-core";
import { ApiError, TransportError } from "@klutch/kube";
import { auditPosition, readAudit, waitFor } from "@klutch/kube-testing";
import { type Actors, deleteClaim, finishDeletions, operate } from "./actors.ts";
import { thief, writesWithoutLease } from "./audit.ts";
import { judge, leftovers, read } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import { observe } from "./observer.ts";
import { type Action, type Fault, formatPlan, isOperation, type Plan, quietActions } from "./plan.ts";
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
  const run = new SeedRun(fixture, plan);
  try {
    return await run.all();
  } catch (error) {
    const logs = await Promise.all(fixture.agents.map((agent) => agent.lastWords(150)));
    const text = [formatPlan(plan), "", ...run.protocol, "", ...logs, "", String(error)].join("\n");
    throw new Error(`seed ${plan.seed} failed:\n${text}`, { cause: error });
  } finally {
    await run.end();
  }
}

class SeedRun {
  readonly protocol: string[] = [];
  readonly #fixture: Fixture;
  readonly #plan: Plan;
  readonly #ledger: Ledger;
  readonly #actors: Actors;
  readonly #started = performance.now();
  readonly #background = new Set<Promise<void>>();

  constructor(fixture: Fixture, plan: Plan) {
    this.#fixture = fixture;
    this.#plan = plan;
    const ledger = new Ledger(plan.seed);
    this.#ledger = ledger;
    const { consumer, provider } = fixture.sides;
    const say = (text: string): void => this.#say(text);
    this.#actors = { plan, ledger, consumer: consumer.client, provider: provider.client, say };
  }

  async all(): Promise<SeedResult> {
    const { sides, agents, runs } = this.#fixture;
    const logs = [sides.consumer.auditLog, sides.provider.auditLog];
    const from = await Promise.all(logs.map(auditPosition));
    const ends = (): number => agents.reduce((sum, one) => sum + one.ends, 0);
    const endsBefore = ends();
    this.#fixture.route(this.#plan);
    await freeLease(this.#fixture);
    await agents[0].start();
    const begin = performance.now();
    await using stack = new AsyncDisposableStack();
    stack.use(observe(this.#fixture, this.#ledger));
    const problems = async (): Promise<readonly string[]> => judge(await read(this.#fixture), this.#ledger);
    const { actions } = this.#plan;
    for (const action of actions.slice(0, quietActions)) await this.#act(action);
    await this.#until("the first claims", problems);
    // Its konnector lives through the kills of the control plane's servers, and feels nothing of those in A.
    const { neighbour } = this.#fixture;
    await Promise.all([
      neighbour.edit().then(() => this.#say("B's claim is changed")),
      (async () => {
        for (const action of actions.slice(quietActions)) await this.#act(action);
      })(),
    ]);
    await this.#peace();
    await neighbour.edit();
    const faultsOver = performance.now();
    await this.#until("convergence", problems);
    const settled = performance.now();
    await this.#until("nothing to be left", async () => {
      await this.#deleteAll();
      return leftovers(await read(this.#fixture));
    });
    const cleaned = performance.now();
    await stack.disposeAsync();
    const [consumer = [], provider = []] = await Promise.all(
      logs.map((log, index) => readAudit(log, from[index] ?? 0)),
    );
    writesWithoutLease(consumer, provider, runs.all).forEach((problem) => this.#ledger.report(problem));
    if (this.#ledger.problems.length > 0) throw new Error(this.#ledger.problems.join("\n"));
    const writes = [...consumer, ...provider].filter(({ resource }) => resource !== "leases");
    return {
      actionsMs: faultsOver - begin,
      settleMs: settled - faultsOver,
      cleanUpMs: cleaned - settled,
      claims: this.#ledger.incarnations.filter(({ isCreated }) => isCreated).length,
      agentWrites: writes.length,
      knownWrites: writes.filter((write) => runs.all.some(({ address }) => address === write.address)).length,
      agentEnds: ends() - endsBefore,
      protocol: this.protocol,
    };
  }

  /** Leaves the fixture ready for the next seed, however this one ended. */
  async end(): Promise<void> {
    const { sides, agents } = this.#fixture;
    for (const { wire } of Object.values(sides)) wire.heal();
    await Promise.allSettled(this.#background);
    await Promise.all(agents.map((agent) => agent.stop()));
  }

  #say(text: string): void {
    const time = new Date().toISOString().slice(11, 23);
    this.protocol.push(`${time} +${Math.round(performance.now() - this.#started)} ${text}`);
  }

  async #act(action: Action): Promise<void> {
    await sleep(action.pauseMs);
    if (isOperation(action.do)) return operate(this.#actors, action);
    this.#say(`${action.do} ${action.cluster} ${action.forMs} ms`);
    await this.#faults(action)[action.do]();
  }

  #faults({ cluster, forMs, dice }: Action): Readonly<Record<Fault, () => unknown>> {
    const { sides, agents } = this.#fixture;
    const side = sides[cluster];
    const [first, second] = agents;
    const { wire, watchProxy } = side;
    const isHttp = this.#plan.route[cluster] === "http";
    /** Does it, and undoes it when the time of the fault is over. */
    const forTime = async (work: () => unknown, undo: () => unknown): Promise<void> => {
      await work();
      const waiting = sleep(forMs)
        .then(async () => void (await undo()))
        .finally(() => this.#background.delete(waiting));
      waiting.catch(() => undefined);
      this.#background.add(waiting);
    };
    const toggled = (toggle: (isOn: boolean) => void): Promise<void> =>
      forTime(
        () => toggle(true),
        () => toggle(false),
      );
    return {
      killAgent: () =>
        forTime(
          () => first.kill(),
          () => first.start(),
        ),
      killApi: () => side.crash("apiserver", forMs),
      killEtcd: () => side.crash("etcd", forMs),
      cut: () => wire.cut(),
      refuse: () =>
        toggled((isOn) => {
          wire.refuse(isOn);
          if (isOn) wire.cut();
        }),
      blackHole: () => toggled((isOn) => wire.blackHole(isOn)),
      delay: () => toggled((isOn) => wire.delay(isOn ? 20 + Math.round(dice * 200) : 0)),
      truncate: () => (isHttp && dice < 0.6 ? watchProxy : wire).truncate(),
      answer: () => {
        watchProxy.answer(dice < 0.3 ? 410 : dice < 0.6 ? 429 : dice < 0.8 ? 500 : 503, 2);
        // Only a new watch can be answered.
        if (isHttp) watchProxy.drop();
      },
      secondAgent: () => second.start(),
      stopSecond: () => (dice < 0.5 ? second.kill() : second.stop()),
      takeLease: () => this.#takeLease(),
      isolateAgent: () => toggled((isOn) => sides.consumer.wire.isolate(isOn ? first.identity : undefined)),
    };
  }

  async #takeLease(): Promise<void> {
    const ref = { namespace: consumerNamespace, name: consumerNamespace };
    const spec = { holderIdentity: thief, leaseDurationSeconds: theftSeconds };
    await this.#fixture.sides.consumer.client.mergePatch(leases, ref, { spec }).catch((error: unknown) => {
      if (!(error instanceof ApiError || error instanceof TransportError)) throw error;
      this.#say(`the lease was not taken: ${error.message}`);
    });
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
    const isOver = async (): Promise<boolean> => {
      if (this.#ledger.problems.length > 0) return true;
      await finishDeletions(this.#fixture.sides.provider.client);
      const last = await problems();
      if (last.length > 0) throw new Error(last.join("\n"));
      return true;
    };
    await waitFor(what, isOver, { timeoutMs: settleLimitMs, intervalMs: 200 });
    if (this.#ledger.problems.length > 0) throw new Error(this.#ledger.problems.join("\n"));
    this.#say(what);
  }

  async #deleteAll(): Promise<void> {
    const { claims, sources } = await read(this.#fixture);
    for (const claim of claims) if (!isDeleting(claim)) await deleteClaim(this.#actors, claim);
    for (const source of sources)
      if (!isDeleting(source)) await this.#actors.provider.delete(secrets, refOfObject(source));
  }
}
