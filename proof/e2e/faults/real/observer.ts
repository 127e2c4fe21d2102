/** Watches both clusters past all faults and reports at once what must never happen. */
import { serviceNamespaceName } from "@klutch/api";
import { isForbidden, type KubeClient } from "@klutch/kube";
import { type DynamicObject, isDeleting, keyOf, numberAt, textAt } from "@klutch/kube-core";
import { followObjects } from "@klutch/kube-testing";
import type { Ledger } from "./ledger.ts";
import { claimNamespaces, neighbourClaim } from "./plan.ts";
import { databases, tenants } from "../../security/bound-fixture.ts";
import type { Fixture } from "./fixture.ts";

/** Starts watching; dispose it to stop. */
export function observe({ sides }: Fixture, ledger: Ledger): AsyncDisposable {
  const stop = new AbortController();
  const running = Promise.all([
    follow(sides.consumer.client, stop.signal, claimWatch(ledger)),
    follow(sides.provider.client, stop.signal, upstreamWatch(ledger)),
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

/** Anything that is no fault of a server must not be hidden. */
function follow(client: KubeClient, signal: AbortSignal, follower: Follower): Promise<void> {
  return followObjects(client, databases, {
    signal,
    onChange: (kind, object) => (kind === "DELETED" ? follower.gone(object) : follower.seen(object)),
    onFailure(error) {
      if (!(error instanceof Error) || isForbidden(error)) throw error;
    },
  });
}

/** Calls `wentBack` when the number of an object is lower than it was; 0 where it has none. */
function neverLower(
  path: readonly string[],
  wentBack: (object: DynamicObject, before: number, now: number) => void,
): (object: DynamicObject) => void {
  const highest = new Map<string, number>();
  return (object) => {
    const { uid = "" } = object.metadata;
    const [before, now] = [highest.get(uid) ?? 0, numberAt(object, ...path) ?? 0];
    if (now < before) wentBack(object, before, now);
    highest.set(uid, Math.max(before, now));
  };
}

/** Claims: their status never goes back, and they go only when their user wants it. */
export function claimWatch(ledger: Ledger): Follower {
  const look = neverLower(["status", "counter"], (object, before, now) =>
    ledger.report(`status of claim ${keyOf(object)} went back from ${before} to ${now}`),
  );
  const expectDeletion = (object: DynamicObject, what: string): void => {
    const incarnation = ledger.incarnationOf(object);
    if (incarnation?.deletion === "none")
      ledger.report(`claim ${keyOf(object)} (${incarnation.id}) ${what}, but its user did not delete it`);
  };
  return {
    seen(object) {
      look(object);
      if (isDeleting(object)) expectDeletion(object, "is being deleted");
    },
    gone: (object) => expectDeletion(object, "is gone"),
  };
}

/** Upstream objects: one for each claim, at its place, deleted only after the claim, and never set back. */
export function upstreamWatch(ledger: Ledger): Follower {
  const present = new Map<string, DynamicObject>();
  const ofNeighbour = serviceNamespaceName(tenants.b, neighbourClaim.namespace);
  const places = claimNamespaces.map((one) => serviceNamespaceName(tenants.a, one));
  const idOf = (object: DynamicObject): string | undefined => textAt(object, "spec", "incarnation");
  const look = neverLower(["spec", "revision"], (object, before, now) =>
    ledger.report(`spec of ${keyOf(object)} of the provider went back from revision ${before} to ${now}`),
  );
  const expectDeletion = (object: DynamicObject): void => {
    const incarnation = ledger.incarnationOf(object);
    if (incarnation?.deletion === "none")
      ledger.report(
        `${keyOf(object)} of the provider was deleted, but nobody deleted claim ${incarnation.id}`,
      );
  };
  return {
    seen(object) {
      const { uid = "", namespace = "" } = object.metadata;
      if (namespace === ofNeighbour) return;
      const [id, key] = [idOf(object), keyOf(object)];
      if (!places.includes(namespace)) ledger.report(`${key} of the provider stands at no claim's place`);
      present.set(uid, object);
      for (const [otherUid, other] of present)
        if (otherUid !== uid && idOf(other) === id)
          ledger.report(`claim ${id} has two upstream objects: ${keyOf(other)} and ${key}`);
      look(object);
      if (isDeleting(object)) expectDeletion(object);
    },
    gone(object) {
      present.delete(object.metadata.uid ?? "");
      expectDeletion(object);
    },
  };
}
