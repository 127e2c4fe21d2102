/** Both stores of pairs on the same caches, which follow two models of API servers. */
import { fieldManager, specDigestAnnotation } from "@klutch/api";
import { ApiError, type KubeClient } from "@klutch/kube";
import { type DynamicObject, jsonEqual, keyOfRef, type ObjectRef, refOfObject } from "@klutch/kube-core";
import { CachePool, type DigestRules, type InformerHandle } from "@klutch/kube-runtime";
import { seededRandom } from "@klutch/kube-testing";
import {
  appliedPart,
  decidingContent,
  type Digest,
  isBound,
  type Mapping,
  type PairPlan,
  planAnswered,
  planPair,
  planStatusOnly,
  planUnbind,
  type StatusView,
  type Step,
  type UnbindPolicy,
} from "@klutch/sync";
import { silentLogger } from "@klutch/telemetry";
import { type BoundDigest, consumerDigests, providerDigests } from "../../../digests.ts";
import { SecretCauses } from "../../claimed-resource/secret-causes.ts";
import { TakenNames } from "../../claimed-resource/taken-names.ts";
import type { BoundResource } from "../bound-resource.ts";
import { CreationHold } from "../creation-hold.ts";
import { DigestPairStore } from "../digest-store.ts";
import { executeStep, type ExecutionContext } from "../execute.ts";
import { NaivePairStore } from "../naive-store.ts";
import { PairPlaces } from "../pair-places.ts";
import type { PairObservation, PairStore, StoreCaches } from "../pair-store.ts";
import {
  carryOut,
  credentials,
  type ObjectDeed,
  type PairServers,
  places,
  startPairServers,
} from "./pair-servers.ts";

/** One event of the test fixture. */
export type Deed =
  | ObjectDeed
  | { readonly do: "restart" }
  | { readonly do: "dropPayloads" }
  | { readonly do: "hold"; readonly isHeld: boolean }
  | { readonly do: "take"; readonly state: "taken" | "free" }
  | { readonly do: "withdraw"; readonly isWithdrawn: boolean }
  | { readonly do: "wait"; readonly isOverdue: boolean }
  | { readonly do: "map"; readonly state: Mapping["state"] }
  | { readonly do: "bind"; readonly unbinding: UnbindPolicy | undefined };

/** One store's observation of a pair, and the plan that follows. */
export interface Answer {
  readonly observed: Awaited<ReturnType<PairStore["observe"]>>;
  readonly plan: PairPlan;
}

/** Both stores' observations of one pair at the same time. */
export interface Answers {
  readonly fast: Answer;
  readonly naive: Answer;
}

interface Stores {
  readonly fast: PairStore;
  readonly naive: PairStore;
}

const { signal } = new AbortController();
const nothing: PairPlan = { steps: [] };
const mapped: Mapping = { state: "ready", providerNamespace: places.mirror };

/** Starts it, with caches that are filled. */
export async function createPairFixture(namespaced: boolean, view: StatusView): Promise<PairFixture> {
  const fixture = new PairFixture(await startPairServers(namespaced, view));
  await fixture.catchUp();
  return fixture;
}

/** Made by `createPairFixture`. */
export class PairFixture implements AsyncDisposable {
  readonly #servers: PairServers;
  readonly #consumer: InformerHandle<BoundDigest>;
  readonly #provider: InformerHandle<BoundDigest>;
  #mapping: Mapping = mapped;
  #isHeld = false;
  #isWithdrawn = false;
  #takenSecrets = new TakenNames();
  #isOverdue = false;
  #unbinding: UnbindPolicy | undefined;
  #stores: Stores;

  constructor(servers: PairServers) {
    this.#servers = servers;
    const { clock, type } = servers;
    const open = (client: KubeClient, digests: DigestRules<Digest>): InformerHandle<BoundDigest> => {
      const pool = new CachePool<Digest>({ client, logger: silentLogger, clock, random: seededRandom(1) });
      return pool.acquireDigested({ type }, digests);
    };
    this.#consumer = open(servers.consumer, consumerDigests(servers.view));
    this.#provider = open(servers.provider, providerDigests(servers.view));
    this.#stores = this.#newStores();
  }

  /** Does it, and lets both caches catch up. What a server refuses has no effect. */
  async carryOut(deed: Deed): Promise<void> {
    if (deed.do === "hold") this.#isHeld = deed.isHeld;
    else if (deed.do === "take") this.#take(deed.state);
    else if (deed.do === "withdraw") this.#isWithdrawn = deed.isWithdrawn;
    else if (deed.do === "wait") this.#isOverdue = deed.isOverdue;
    else if (deed.do === "map") this.#mapping = deed.state === "ready" ? mapped : { state: deed.state };
    else if (deed.do === "bind") this.#unbinding = deed.unbinding;
    else if (deed.do === "restart" || deed.do === "dropPayloads") this.#dropPayloads();
    else {
      await carryOut(this.#servers, deed).catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
      });
    }
    if (deed.do === "restart") this.#takenSecrets = new TakenNames();
    if (deed.do === "bind" || deed.do === "restart") this.#stores = this.#newStores();
    await this.catchUp();
  }

  /** Decides about the name of the Secret that `work` names. */
  #take(state: "taken" | "free"): void {
    const key = `${places.app}/${credentials}`;
    this.#takenSecrets.ask(key);
    this.#takenSecrets.decide(key, state);
  }

  /** Lets both caches show what their servers have. */
  async catchUp(): Promise<void> {
    const { clock } = this.#servers;
    await clock.run({ untilMs: clock.monotonic() + 1_000 });
  }

  /** Returns both stores' observations of the claim of this name. */
  async ask(name: string): Promise<Answers> {
    const key = this.#servers.type.namespaced ? `${places.app}/${name}` : name;
    return { naive: await this.#ask(this.#stores.naive, key), fast: await this.#ask(this.#stores.fast, key) };
  }

  /** Carries out the plan of the fast store; both remember it. */
  async execute({ fast, naive }: Answers): Promise<void> {
    if (typeof fast.observed === "string" || typeof naive.observed === "string") return;
    let written: DynamicObject | undefined;
    for (const step of fast.plan.steps) {
      const answer = await executeStep(this.#parts(), step, signal);
      if (answer !== undefined) {
        this.#stores.fast.rememberWrite(fast.observed, step, answer);
        this.#stores.naive.rememberWrite(naive.observed, step, answer);
      }
      if (step.do === "applyProvider" || step.do === "patchProvider") written = answer;
    }
    for (const step of this.#answered(fast.observed, written)) {
      const answer = await executeStep(this.#parts(), step, signal);
      if (answer === undefined) continue;
      this.#stores.fast.rememberWrite(fast.observed, step, answer);
      this.#stores.naive.rememberWrite(naive.observed, step, answer);
    }
    const { consumer, provider } = fast.observed;
    const upstream = written ?? provider;
    if (fast.plan.waiting !== undefined || consumer === undefined || upstream === undefined) return;
    if (!isBound(upstream)) return;
    this.#stores.fast.rememberSynced(fast.observed, written);
    this.#stores.naive.rememberSynced(naive.observed, written);
  }

  /** True when the server answers that the upstream object would be the same after it, but for a mark that it lacks. */
  async changesNothing({ content }: Extract<Step, { readonly do: "applyProvider" }>): Promise<boolean> {
    const { provider, type } = this.#servers;
    const before = await provider.find<DynamicObject>(type, refOfObject(content), { signal });
    if (before === undefined) return false;
    const options = { fieldManager, force: true, dryRun: true, signal };
    const after = await provider.apply<DynamicObject>(type, { ...content }, options);
    const isMarked = before.metadata.annotations?.[specDigestAnnotation] !== undefined;
    const kept = isMarked ? after : decidingContent(after, before);
    return jsonEqual(appliedPart(before), appliedPart(kept));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#consumer[Symbol.asyncDispose]();
    await this.#provider[Symbol.asyncDispose]();
  }

  async #ask(store: PairStore, key: string): Promise<Answer> {
    const observed = await store.observe(key, signal, this.#isOverdue);
    if (typeof observed === "string") return { observed, plan: nothing };
    if (observed.onlyStatusDiffers === true) return { observed, plan: planStatusOnly(observed) };
    const plan = this.#unbinding === undefined ? planPair(observed) : planUnbind(observed, this.#unbinding);
    return { observed, plan };
  }

  #answered(observed: PairObservation, written: DynamicObject | undefined): readonly Step[] {
    return written === undefined || this.#unbinding !== undefined ? [] : planAnswered(observed, written);
  }

  #dropPayloads(): void {
    for (const { cache } of [this.#consumer, this.#provider])
      for (const { payload } of cache.informer.list()) payload.drop();
  }

  #newStores(): Stores {
    const { bound, caches } = this.#parts();
    return { fast: new DigestPairStore(bound, caches), naive: new NaivePairStore(bound, caches) };
  }

  /** Builds what the stores and the executor need. Parts that they do not use are missing. */
  #parts(): ExecutionContext & { readonly caches: StoreCaches } {
    const { clock, type, view, tenant, consumer, provider } = this.#servers;
    const [{ cache: claims }, { cache }] = [this.#consumer, this.#provider];
    const providerInformer = {
      get: (ref: ObjectRef) => cache.get(keyOfRef(ref)),
      isSynced: () => cache.informer.synced,
      wrote: (object: DynamicObject) => cache.wrote(object),
    };
    const isHeld = (): boolean => this.#isHeld;
    const bound = {
      type,
      providerType: type,
      isolation: "Prefixed",
      view,
      unbinding: this.#unbinding,
      statusSubresource: true,
      clusterWide: true,
      consumer: { client: consumer } as never,
      provider: { client: provider, tenant } as never,
      namespaces: this.#namespaces() as never,
      orphans: undefined as never,
      creations: new CreationHold({ name: "widgets", clock, onChange: () => undefined }),
      breaker: {
        whyHeld: () => (isHeld() ? "the fixture holds" : undefined),
      } as never,
      deletedNamespaces: undefined as never,
      releasedAt: () => Number.NaN,
      confirmProvider: () => Promise.resolve(),
      takenSecrets: this.#takenSecrets,
      secretCauses: new SecretCauses(),
      away: () => undefined,
      withdrawn: () => (this.#isWithdrawn ? type.plural : undefined),
      limit: { wordsFor: () => undefined, awaitsCount: () => false } as never,
      events: undefined as never,
      runtime: { clock, timing: { providerObjectsLimit: 0 } } as never,
    } satisfies BoundResource;
    const places = new PairPlaces(bound, { claims, providerInformer });
    return {
      bound,
      caches: { claims, providerInformer, places },
      wasSeenGoing: () => false,
      created: new WeakSet(),
      onWrite: () => undefined,
    };
  }

  #namespaces(): object {
    return {
      mapping: () => this.#mapping,
      consumerNamespaceOf: () => places.app,
      isPresent: () => true,
      population: () => 0,
      ask: () => {
        this.#mapping = mapped;
        return Promise.resolve();
      },
    };
  }
}
