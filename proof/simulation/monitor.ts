/** Watches both sides while faults happen and records every promise that is broken at some moment. */
import { boundAnnotation, syncerFinalizer } from "@klutch/api";
import {
  type DynamicObject,
  leases,
  numberAt,
  type ObjectMeta,
  refOf,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import type { AgentWrite } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { follow, placeOf, serviceNamespaceOf, specText } from "./control-plane.ts";
import { flawsOf, judgeStatus, type WorkLedger } from "./generations.ts";
import { misplaced, ProviderWords } from "./places.ts";
import type { Stage } from "./stage.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";
import type { Entry, Ledger } from "./users.ts";

/** One tenant with the promises to its users. */
export interface Watched {
  readonly tenant: SimulatedTenant;
  readonly ledger: Ledger;
}

/** Sees each change of both servers as it happens. Tells each broken promise to the stage; the end state is judged elsewhere. */
export class Monitor {
  readonly #stage: Stage;
  readonly #watched: readonly Watched[];
  readonly #words: ProviderWords;
  /** Virtual time at which upstream objects were first seen, by uid. */
  readonly #bornAt = new Map<string, number>();
  readonly #counts = new Map<string, number>();
  /** Holder of each tenant's lease. */
  readonly #holders = new Map<string, string>();
  /** Existing bound upstream objects, as `<plural> <namespace>/<name>`. */
  readonly #present = new Set<string>();
  readonly #reportedGone = new Set<string>();
  /** Generations of claims, and the virtual time since which they have had them, by uid. */
  readonly #generations = new Map<string, { readonly generation: number; readonly since: number }>();
  /** The specs that the provider's controllers worked on. */
  readonly #ledger: WorkLedger;
  /** Set when bindings go: then claims stay without upstream objects on purpose. */
  isUnbinding = false;

  constructor(stage: Stage, watched: readonly Watched[], ledger: WorkLedger) {
    this.#stage = stage;
    this.#watched = watched;
    this.#words = new ProviderWords(stage.provider);
    this.#ledger = ledger;
  }

  /** Watches until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    const provider = this.#stage.client;
    const running: Promise<void>[] = [];
    for (const { type } of simulatedApis) {
      running.push(
        follow(provider, type, signal, (object, isGone) => this.#onProvider(type.plural, object, isGone)),
      );
      for (const { tenant } of this.#watched) running.push(this.#whenServed(tenant, type, signal));
    }
    for (const { tenant } of this.#watched) {
      running.push(
        follow(tenant.direct, leases, signal, ({ spec }) => {
          this.#holders.set(tenant.name, textAt(spec, "holderIdentity") ?? "");
        }),
      );
    }
    return Promise.all(running).then(() => undefined);
  }

  /** An agent is about to write. */
  wrote(tenant: SimulatedTenant, write: AgentWrite): void {
    const { identity, side, verb, type, namespace, name } = write;
    const holder = this.#holders.get(tenant.name) ?? "";
    const what = `${identity} sent ${verb} ${type.plural} ${namespace ?? ""}/${name} to the ${side}`;
    // Taking a lease before it expired is against its rules, so no agent can notice at once; the thief does not write.
    if (holder !== identity && holder !== "" && holder !== "thief")
      this.#stage.say(`no write without the lease: ${what} while ${holder} held it`);
    const why = misplaced(tenant, write, this.#words);
    if (why !== undefined) this.#stage.say(`${identity}: ${why}`);
    if (side !== "provider") return;
    const own = [tenant.namespace, ...workNamespaces.map((one) => serviceNamespaceOf(tenant, one))];
    const isOwn = namespace === undefined ? name.startsWith(`${tenant.namespace}-`) : own.includes(namespace);
    if (!isOwn) this.#stage.say(`tenants are apart: ${what}`);
  }

  async #whenServed(tenant: SimulatedTenant, type: ResourceType, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await tenant.direct.list(type, { limit: 1 });
        break;
      } catch {
        await this.#stage.clock.sleep(200, { signal }).catch(() => undefined);
      }
    }
    await follow(tenant.direct, type, signal, (object, isGone) => {
      if (isGone) this.#goneOnConsumer(tenant, type, object);
      else this.#onConsumer(tenant, type, object);
    });
  }

  #onProvider(plural: string, object: DynamicObject, isGone: boolean): void {
    const { uid = "", namespace, name = "", deletionTimestamp, annotations } = object.metadata;
    const now = this.#stage.clock.monotonic();
    if (!this.#bornAt.has(uid)) this.#bornAt.set(uid, now);
    const place = placeOf({ plural }, { namespace, name });
    if (isGone || annotations?.[boundAnnotation] !== "true") this.#present.delete(place);
    else this.#present.add(place);
    if (deletionTimestamp === undefined && !isGone) return;
    if (this.#reportedGone.has(uid) || annotations?.[boundAnnotation] !== "true") return;
    const deletedAt = this.#entryOf(place)?.deletedAt;
    if (deletedAt === undefined || deletedAt < (this.#bornAt.get(uid) ?? 0) - creationSlackMs)
      this.#stage.say(`no upstream delete without a user's: ${place} goes`);
    this.#reportedGone.add(uid);
  }

  /** Returns what was acknowledged for the claim whose upstream object has this place. */
  #entryOf(place: string): Entry | undefined {
    for (const { tenant, ledger } of this.#watched)
      for (const [key, entry] of ledger) {
        const [plural = "", object = ""] = key.split(" ");
        if (upstreamPlace(tenant, { plural }, refOf(object)) === place) return entry;
      }
    return undefined;
  }

  /** A claim is gone only when its upstream is, unless the API server removed it despite its finalizer; its end comes as an orphan then. */
  #goneOnConsumer(tenant: SimulatedTenant, type: ResourceType, { metadata }: DynamicObject): void {
    const { deletionTimestamp, finalizers, annotations } = metadata;
    // The upstream object may be an orphan of an earlier claim until an agent takes care of the new one.
    if (annotations?.[boundAnnotation] !== "true") return;
    if (deletionTimestamp === undefined && finalizers?.includes(syncerFinalizer) === true) return;
    if (this.isUnbinding || !this.#present.has(upstreamPlace(tenant, type, metadata))) return;
    const what = `${tenant.name} ${placeOf(type, metadata)}`;
    this.#stage.say(`a claim goes after its upstream: ${what} is gone`);
  }

  #onConsumer(tenant: SimulatedTenant, type: ResourceType, object: DynamicObject): void {
    const { uid = "", name = "" } = object.metadata;
    this.#judge(tenant, type, object);
    const count = numberAt(object.status, "count");
    if (count === undefined) return;
    const before = this.#counts.get(uid) ?? -1;
    if (count < before)
      this.#stage.say(`status goes never back: ${tenant.name} ${name} shows ${count} after ${before}`);
    this.#counts.set(uid, count);
  }

  /** Checks that a status that tools take for current is true. */
  #judge(tenant: SimulatedTenant, type: ResourceType, object: DynamicObject): void {
    const { uid = "", name = "", generation = 0 } = object.metadata;
    const known = this.#generations.get(uid);
    const now = this.#stage.clock.monotonic();
    const since = known?.generation === generation ? known.since : now;
    this.#generations.set(uid, { generation, since });
    for (const flaw of flawsOf(object)) this.#stage.say(`${tenant.name} ${name}: ${flaw}`);
    if (judgeStatus(object, true) !== "current") return;
    if (!this.#ledger.isWorkedOn(upstreamPlace(tenant, type, object.metadata), specText(object), since))
      this.#stage.say(
        `nobody is ready too early: ${tenant.name} ${name} shows generation ${generation} as ready`,
      );
  }
}

/** Returns the place of a claim's upstream object. */
export function upstreamPlace(
  tenant: SimulatedTenant,
  type: Pick<ResourceType, "plural">,
  { namespace, name = "" }: ObjectMeta,
): string {
  return namespace === undefined
    ? placeOf(type, { name: `${tenant.namespace}-${name}` })
    : placeOf(type, { namespace: serviceNamespaceOf(tenant, namespace), name });
}

/**
 * Milliseconds by which a claim's delete can be older than its upstream object, when the claim was deleted while the object was being
 * made. The watch that would have shown the delete may be silent for 90 s before it is given up.
 */
const creationSlackMs = 100_000;
