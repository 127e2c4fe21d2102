/** Watches both clusters past all faults and reports at once what must never happen. */
import { setTimeout as sleep } from "node:timers/promises";
import { serviceNamespaceName } from "@klutch/api";
import { ApiError, type KubeClient } from "@klutch/kube";
import { type DynamicObject, keyOf, numberAt, textAt } from "@klutch/kube-core";
import type { Ledger } from "./ledger.ts";
import { claimNamespaces } from "./plan.ts";
import { databases, tenants } from "../../security/bound-fixture.ts";
import type { Fixture } from "./fixture.ts";

/** Starts watching; dispose it to stop. */
export function observe({ sides }: Fixture, ledger: Ledger): AsyncDisposable {
  const stop = new AbortController();
  const claims = new ClaimWatch(ledger);
  const upstreams = new UpstreamWatch(ledger);
  const running = Promise.all([
    follow(sides.consumer.client, stop.signal, claims),
    follow(sides.provider.client, stop.signal, upstreams),
  ]);
  // Reported when it is awaited.
  running.catch(() => undefined);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the seed ended"));
      await running;
    },
  };
}

/** Receives the objects that a watch shows. */
export interface Follower {
  seen(object: DynamicObject): void;
  /** `object` as it was last seen. */
  gone(object: DynamicObject): void;
}

/** Lists and watches, again and again; objects that were deleted between two watches are found by comparing the lists. */
async function follow(client: KubeClient, signal: AbortSignal, follower: Follower): Promise<void> {
  const present = new Map<string, DynamicObject>();
  const see = (object: DynamicObject): void => {
    present.set(object.metadata.uid ?? "", object);
    follower.seen(object);
  };
  const lose = (object: DynamicObject): void => {
    if (present.delete(object.metadata.uid ?? "")) follower.gone(object);
  };
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await client.list<DynamicObject>(databases, { signal });
      const uids = new Set(items.map(({ metadata }) => metadata.uid));
      for (const [uid, object] of present) if (!uids.has(uid)) lose(object);
      items.forEach(see);
      for await (const event of client.watch<DynamicObject>(databases, { resourceVersion, signal })) {
        if (event.type === "DELETED") lose(event.object);
        else if (event.type !== "BOOKMARK") see(event.object);
      }
    } catch (error) {
      if (signal.aborted) return;
      // Expired versions, killed servers: list again. Anything that is no fault of a server must not be hidden.
      if (!(error instanceof Error)) throw error;
      if (error instanceof ApiError && error.status === 403) throw error;
      await sleep(100);
    }
  }
}

/** Claims: their status never goes back, and they go only when their user wants it. */
export class ClaimWatch implements Follower {
  readonly #ledger: Ledger;
  readonly #counters = new Map<string, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  seen(object: DynamicObject): void {
    const { uid = "", deletionTimestamp } = object.metadata;
    const counter = numberAt(object, "status", "counter") ?? 0;
    const before = this.#counters.get(uid) ?? 0;
    if (counter < before) {
      this.#ledger.report(`status of claim ${keyOf(object)} went back from ${before} to ${counter}`);
    }
    this.#counters.set(uid, Math.max(before, counter));
    if (deletionTimestamp !== undefined) this.#expectDeletion(object, "is being deleted");
  }

  gone(object: DynamicObject): void {
    this.#expectDeletion(object, "is gone");
  }

  #expectDeletion(object: DynamicObject, what: string): void {
    const incarnation = this.#ledger.find(textAt(object, "spec", "incarnation"));
    if (incarnation?.deletion !== "none") return;
    this.#ledger.report(`claim ${keyOf(object)} (${incarnation.id}) ${what}, but its user did not delete it`);
  }
}

/** Upstream objects: one for each claim, at its place, deleted only after the claim, and never set back. */
export class UpstreamWatch implements Follower {
  readonly #ledger: Ledger;
  readonly #revisions = new Map<string, number>();
  readonly #present = new Map<string, DynamicObject>();
  readonly #places = new Set(claimNamespaces.map((one) => serviceNamespaceName(tenants.a, one)));

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  seen(object: DynamicObject): void {
    const { uid = "", namespace = "", deletionTimestamp } = object.metadata;
    const id = textAt(object, "spec", "incarnation");
    const key = keyOf(object);
    if (!this.#places.has(namespace))
      this.#ledger.report(`${key} of the provider stands at no claim's place`);
    this.#present.set(uid, object);
    for (const [otherUid, other] of this.#present) {
      if (otherUid !== uid && textAt(other, "spec", "incarnation") === id) {
        this.#ledger.report(`claim ${id} has two upstream objects: ${keyOf(other)} and ${key}`);
      }
    }
    const revision = numberAt(object, "spec", "revision") ?? 0;
    const before = this.#revisions.get(uid) ?? 0;
    if (revision < before) {
      this.#ledger.report(`spec of ${key} of the provider went back from revision ${before} to ${revision}`);
    }
    this.#revisions.set(uid, Math.max(before, revision));
    if (deletionTimestamp !== undefined) this.#expectDeletion(object);
  }

  gone(object: DynamicObject): void {
    this.#present.delete(object.metadata.uid ?? "");
    this.#expectDeletion(object);
  }

  #expectDeletion(object: DynamicObject): void {
    const id = textAt(object, "spec", "incarnation");
    if (this.#ledger.find(id)?.deletion !== "none") return;
    this.#ledger.report(`${keyOf(object)} of the provider was deleted, but nobody deleted claim ${id}`);
  }
}
