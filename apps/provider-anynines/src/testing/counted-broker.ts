/** A broker in memory that counts what it is asked. Only a fake answers in virtual time; the real one is in `fixture.ts`. */
import type { Clock } from "@klutch/kube";
import { OsbError, type OsbClient, type OsbOperation, type Outcome } from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";
import { catalogOf } from "./catalog.ts";

/** A call, by verb and the id of the instance. */
export interface CountedCall {
  readonly operation: OsbOperation;
  readonly instanceId: string;
  /** Monotonic, in milliseconds. */
  readonly at: number;
}

/** It provisions and binds, and forgets only what it is told to. */
export interface CountedBroker extends Broker {
  readonly calls: readonly CountedCall[];
  /**
   * How it makes, changes and deletes. `at once`: each is done when it answers; deletions are so when they are good.
   * `once`: the same, and a second call for what it has is answered with 409, as Cloud Service Broker does. `slow`: each is accepted and
   * then done. `broken`: each is accepted and then fails. `down`: each is answered with 500.
   */
  readonly state: {
    provisions: "good" | "at once" | "once" | "broken" | "down";
    updates: "good" | "down";
    bindings: "good" | "down";
    deletions: "good" | "slow" | "broken" | "down";
  };
  /** Ids of the instances that it has or makes. */
  readonly instances: () => readonly string[];
  forget(instanceId: string): void;
}

const catalog = catalogOf({ name: "a9s-postgresql17" }, [{ name: "postgresql-single-nano" }]);

const answered = (status: number): OsbError =>
  new OsbError({ status, error: "", description: "", own: true, action: "GET x" });

const brokenKey = "broken";
const slowKey = "slow";
/** A deletion is worked on this long before it is done or fails. */
const deletionMs = 500;

/** Operations take `takesMs`. */
export function countedBroker(clock: Clock, takesMs: number): CountedBroker {
  const calls: CountedCall[] = [];
  const state: CountedBroker["state"] = {
    provisions: "good",
    updates: "good",
    bindings: "good",
    deletions: "good",
  };
  const readyAt = new Map<string, number>();
  const count = (operation: OsbOperation, instanceId: string): void => {
    calls.push({ operation, instanceId, at: clock.monotonic() });
  };
  const accept = (operation: OsbOperation, instanceId: string): Promise<{ readonly kind: "accepted" }> => {
    count(operation, instanceId);
    readyAt.set(instanceId, clock.monotonic() + takesMs);
    return Promise.resolve({ kind: "accepted" });
  };
  const isReady = (instanceId: string): boolean =>
    clock.monotonic() >= (readyAt.get(instanceId) ?? Number.POSITIVE_INFINITY);
  let deletedAt = 0;
  const remove = (): Outcome => {
    if (state.deletions === "good") return { kind: "done" };
    if (state.deletions === "down") throw answered(500);
    deletedAt = clock.monotonic() + deletionMs;
    return { kind: "accepted", operation: state.deletions === "slow" ? slowKey : brokenKey };
  };
  const osb: Partial<OsbClient> = {
    async provision({ instanceId }) {
      if (state.provisions === "good" || state.provisions === "broken")
        return accept("provision", instanceId);
      count("provision", instanceId);
      if (state.provisions === "down") throw answered(500);
      if (state.provisions === "once" && readyAt.has(instanceId)) throw answered(409);
      readyAt.set(instanceId, clock.monotonic());
      return { kind: "done" };
    },
    async deprovision({ instanceId }) {
      count("deprovision", instanceId);
      if (state.deletions === "good" || state.deletions === "slow") readyAt.delete(instanceId);
      return remove();
    },
    async update({ instanceId }) {
      if (state.updates === "good") return accept("update", instanceId);
      count("update", instanceId);
      throw answered(500);
    },
    async bind({ instanceId }) {
      count("bind", instanceId);
      if (state.bindings === "down") throw answered(500);
      return { kind: "done", credentials: { password: "p" } };
    },
    async fetchBinding() {
      return { credentials: { password: "p" } };
    },
    async unbind({ instanceId }) {
      count("unbind", instanceId);
      return remove();
    },
    async lastOperation({ instanceId, operation }) {
      count("last_operation", instanceId);
      if (operation === brokenKey) {
        const state = clock.monotonic() < deletedAt ? "in progress" : "failed";
        return { state, description: "the disk is locked" };
      }
      if (operation === slowKey && clock.monotonic() >= deletedAt) throw answered(410);
      if (operation === slowKey) return { state: "in progress", description: "" };
      if (!readyAt.has(instanceId)) throw answered(410);
      if (state.provisions === "broken") return { state: "failed", description: "no room" };
      return { state: isReady(instanceId) ? "succeeded" : "in progress", description: "" };
    },
    async fetchInstance(instanceId) {
      count("fetch_instance", instanceId);
      if (!isReady(instanceId)) throw answered(404);
      return { serviceId: "s", planId: "p" };
    },
  };
  // These tests call no other method.
  return {
    osb: osb as OsbClient,
    calls,
    state,
    catalog: () => Promise.resolve(catalog),
    forget: (instanceId) => readyAt.delete(instanceId),
    instances: () => [...readyAt.keys()],
  };
}
