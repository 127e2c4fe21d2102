/**
 * One seed of a control plane that is restored from a backup: people work in two app clusters, the provider goes back to an earlier state, and an
 * agent may have been killed meanwhile. Until a person allows it, no agent makes an upstream object for a claim that had one; then all claims have
 * one. The same seed takes the same course.
 */
import { apiServiceBindings, consumerNamespace, releaseCreationsAnnotation } from "@klutch/api";
import { conditionsOf, type DynamicObject, isDeleting, isTrue, numberAt, valueAt } from "@klutch/kube-core";
import type { AgentWrite, SimulatedAgent } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { placeOf } from "./control-plane.ts";
import { pick } from "./deeds.ts";
import { upstreamPlace } from "./monitor.ts";
import { objectsOf } from "./snapshot.ts";
import { type SimulationResult, Stage } from "./stage.ts";
import type { SimulatedTenant } from "./tenant.ts";
import { act, type Ledger } from "./users.ts";

/** Agents record the provider's version every ten minutes. */
const recordedAfterMs = 750_000;

interface Cluster {
  readonly tenant: SimulatedTenant;
  readonly ledger: Ledger;
  agent: SimulatedAgent | undefined;
  /** UIDs of claims that lost their upstream objects, by the place of these. */
  readonly lost: Map<string, string>;
}

/** Runs one seed to its end. */
export async function simulateRestored(seed: number): Promise<SimulationResult> {
  const stage = new Stage(seed);
  return await stage.run(() => new Course(stage).run());
}

class Course {
  readonly #stage: Stage;
  readonly #clusters: Cluster[] = [];
  readonly #counter = { next: 1 };
  #actors = new AbortController();
  #agents = 0;
  #isAllowed = false;
  /** Places of upstream objects in the backup. */
  #inBackup: ReadonlySet<string> = new Set();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async run(): Promise<void> {
    const { clock, provider, random, record } = this.#stage;
    await this.#stage.prepare((tenant) => {
      this.#clusters.push({ tenant, ledger: new Map(), agent: undefined, lost: new Map() });
    });
    this.#startActors();
    for (const cluster of this.#clusters) this.#startAgent(cluster);
    await this.#work();
    const backup = provider.backUp();
    record("the provider is backed up");
    await this.#work();
    await clock.advance(recordedAfterMs + random() * 20_000);
    const killed = this.#clusters.filter(() => random() < 0.4);
    for (const { agent } of killed) agent?.kill();
    this.#actors.abort(new Error("the provider is restored"));
    await clock.advance(1_000);
    const had = this.#clusters.map(({ tenant }) => this.#claimsWithObjects(tenant));
    provider.restore(backup);
    for (const [index, { lost }] of this.#clusters.entries())
      for (const [place, uid] of had[index] ?? []) if (isGone(this.#upstream(place))) lost.set(place, uid);
    const lostObjects = this.#clusters.reduce((sum, { lost }) => sum + lost.size, 0);
    record(`the provider is restored: ${lostObjects} claims have lost their objects`);
    this.#inBackup = new Set(
      simulatedApis.flatMap(({ type }) =>
        objectsOf(provider, type).map(({ metadata }) => placeOf(type, metadata)),
      ),
    );
    this.#startActors();
    for (const cluster of killed) this.#startAgent(cluster);
    await this.#work();
    await this.#stage.untilQuiet("before a person's word", () => this.#problemsOfHold());
    await clock.resolve(this.#allow());
    await this.#stage.untilQuiet("after a person's word", () => this.#unsynced());
    await this.#stage.end(this.#clusters.flatMap(({ agent }) => (agent === undefined ? [] : [agent])));
    this.#actors.abort(new Error("the simulation ended"));
  }

  #startActors(): void {
    this.#actors = new AbortController();
    const onEnd = (error: unknown): void => {
      if (!this.#actors.signal.aborted) this.#stage.say(`an actor failed: ${String(error)}`);
    };
    this.#stage.startProvider(this.#counter, onEnd, this.#actors.signal);
  }

  #startAgent(cluster: Cluster): void {
    const { tenant } = cluster;
    const number = ++this.#agents;
    cluster.agent = this.#stage.startAgent({
      tenant,
      identity: `${tenant.name}-agent-${number}`,
      number,
      faults: this.#stage.faults(number),
      judge: (write) => this.#judge(cluster, write),
    });
  }

  /** People work for a virtual minute. */
  async #work(): Promise<void> {
    const { clock, random, record } = this.#stage;
    await clock.resolve(
      this.#stage.trouble(2_500, async () => {
        const { tenant, ledger } = pick(random, this.#clusters);
        record(`${tenant.name}: ${await act(tenant, ledger, clock, random)}`);
      }),
    );
  }

  #judge({ tenant, lost }: Cluster, write: AgentWrite): void {
    const { identity, side, verb, type, namespace, name } = write;
    const place = placeOf(type, { ...(namespace === undefined ? {} : { namespace }), name });
    if (
      side === "consumer" &&
      verb === "delete" &&
      simulatedApis.some((api) => api.type.plural === type.plural)
    )
      this.#stage.say(`nothing is deleted in the app cluster: ${identity} deletes ${place}`);
    const uid = lost.get(place);
    // A write to the object with a UID makes none.
    if (valueAt(write.body, "metadata", "uid") !== undefined) return;
    if (this.#isAllowed || side !== "provider" || verb !== "apply" || uid === undefined) return;
    if (this.#isUpstream(place)) return;
    const isSame = this.#claims(tenant).some(({ metadata }) => metadata.uid === uid);
    if (isSame) this.#stage.say(`no object is made for a claim that had one: ${identity} makes ${place}`);
  }

  *#typed(tenant: SimulatedTenant): Iterable<{ readonly place: string; readonly claim: DynamicObject }> {
    for (const { type } of simulatedApis)
      for (const claim of objectsOf(tenant.consumer, type))
        yield { place: upstreamPlace(tenant, type, claim.metadata), claim };
  }

  #claims(tenant: SimulatedTenant): readonly DynamicObject[] {
    return [...this.#typed(tenant)].map(({ claim }) => claim);
  }

  #isUpstream(place: string): boolean {
    return this.#upstream(place) !== undefined;
  }

  #upstream(place: string): DynamicObject | undefined {
    return simulatedApis
      .flatMap(({ type }) =>
        objectsOf(this.#stage.provider, type).filter(({ metadata }) => placeOf(type, metadata) === place),
      )
      .at(0);
  }

  /** Claims that show a status of their upstream objects. */
  #claimsWithObjects(tenant: SimulatedTenant): ReadonlyMap<string, string> {
    const found = [...this.#typed(tenant)].filter(
      ({ place, claim }) => numberAt(claim.status, "count") !== undefined && this.#isUpstream(place),
    );
    return new Map(found.map(({ place, claim }) => [place, claim.metadata.uid ?? ""]));
  }

  /** A claim waits exactly if it lost its object; its binding says so. */
  #problemsOfHold(): readonly string[] {
    return this.#clusters.flatMap(({ tenant, lost }) =>
      [...this.#typed(tenant)].flatMap(({ place, claim }) => {
        const ready = conditionsOf(claim).find(({ type }) => type === "Ready");
        // It showed the status of an older claim's object, which has been deleted since.
        if (ready?.reason === "CreationHeld" && this.#inBackup.has(place)) return [];
        if (isDeleting(claim) || lost.get(place) !== claim.metadata.uid)
          return this.#unsyncedProblem(tenant, place, claim);
        return ready?.reason === "CreationHeld" && this.#isSaid(tenant, place)
          ? []
          : [`${tenant.name} ${place} lost its object and does not say so: ${JSON.stringify(claim.status)}`];
      }),
    );
  }

  #isSaid({ consumer }: SimulatedTenant, place: string): boolean {
    return objectsOf(consumer, apiServiceBindings).some(
      (binding) =>
        place.startsWith(binding.metadata.name?.split(".")[0] ?? "?") &&
        isTrue(conditionsOf(binding), "CreationHeld"),
    );
  }

  #unsyncedProblem(tenant: SimulatedTenant, place: string, claim: DynamicObject): readonly string[] {
    if (isDeleting(claim)) return [`${tenant.name} ${place}: the deletion does not end`];
    return this.#isUpstream(place) && isTrue(conditionsOf(claim), "Ready")
      ? []
      : [`${tenant.name} ${place} is not in sync: ${JSON.stringify(claim.status)}`];
  }

  #unsynced(): readonly string[] {
    return this.#clusters.flatMap(({ tenant }) => [
      ...[...this.#typed(tenant)].flatMap(({ place, claim }) => this.#unsyncedProblem(tenant, place, claim)),
      ...objectsOf(tenant.consumer, apiServiceBindings)
        .filter((binding) => isTrue(conditionsOf(binding), "CreationHeld"))
        .map(({ metadata }) => `${tenant.name}: ${metadata.name} still holds`),
    ]);
  }

  async #allow(): Promise<void> {
    const { clock, record } = this.#stage;
    this.#isAllowed = true;
    record("people allow new objects");
    const annotations = { [releaseCreationsAnnotation]: new Date(clock.now()).toISOString() };
    for (const { tenant } of this.#clusters)
      for (const { name } of simulatedApis)
        await tenant.direct.mergePatch(
          apiServiceBindings,
          { namespace: consumerNamespace, name },
          { metadata: { annotations } },
        );
  }
}

/** Tells whether an object is absent, or about to be. */
function isGone(object: DynamicObject | undefined): boolean {
  return object === undefined || isDeleting(object);
}
