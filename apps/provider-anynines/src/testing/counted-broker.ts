/** A broker in memory that counts what it is asked. Only a fake answers in virtual time; the real one is in `world.ts`. */
import type { Clock } from "@klutch/kube";
import { type Catalog, OsbError, type OsbClient, type OsbOperation, type Outcome } from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";

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
  /** How it makes and deletes: `broken`: each is accepted and then fails. `at once`: each is done when it answers. */
  readonly state: { provisions: "good" | "at once" | "broken"; deletions: "good" | "broken" };
  /** Ids of the instances that it has or makes. */
  readonly instances: () => readonly string[];
  forget(instanceId: string): void;
}

const catalog: Catalog = {
  services: [
    {
      id: "s",
      name: "a9s-postgresql17",
      description: "",
      bindable: true,
      instancesRetrievable: true,
      bindingsRetrievable: true,
      planUpdateable: true,
      plans: [{ id: "p", name: "postgresql-single-nano", description: "" }],
    },
  ],
};

const gone = (status: number): OsbError =>
  new OsbError({ status, error: "", description: "", own: true, action: "GET x" });

const brokenKey = "broken";
/** What is broken is worked on this long before it fails. */
const brokenMs = 500;

/** Operations take `takesMs`. */
export function countedBroker(clock: Clock, takesMs: number): CountedBroker {
  const calls: CountedCall[] = [];
  const state: CountedBroker["state"] = { provisions: "good", deletions: "good" };
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
  let brokenAt = 0;
  const remove = (): Outcome => {
    if (state.deletions === "good") return { kind: "done" };
    brokenAt = clock.monotonic() + brokenMs;
    return { kind: "accepted", operation: brokenKey };
  };
  const osb: Partial<OsbClient> = {
    async provision({ instanceId }) {
      if (state.provisions !== "at once") return accept("provision", instanceId);
      count("provision", instanceId);
      readyAt.set(instanceId, clock.monotonic());
      return { kind: "done" };
    },
    async deprovision({ instanceId }) {
      count("deprovision", instanceId);
      if (state.deletions === "good") readyAt.delete(instanceId);
      return remove();
    },
    update: ({ instanceId }) => accept("update", instanceId),
    async bind({ instanceId }) {
      count("bind", instanceId);
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
        const state = clock.monotonic() < brokenAt ? "in progress" : "failed";
        return { state, description: "the disk is locked" };
      }
      if (!readyAt.has(instanceId)) throw gone(410);
      if (state.provisions === "broken") return { state: "failed", description: "no room" };
      return { state: isReady(instanceId) ? "succeeded" : "in progress", description: "" };
    },
    async fetchInstance(instanceId) {
      count("fetch_instance", instanceId);
      if (!isReady(instanceId)) throw gone(404);
      return { serviceId: "s", planId: "p" };
    },
  };
  // What is not here is not called by these tests.
  return {
    osb: osb as OsbClient,
    calls,
    state,
    catalog: () => Promise.resolve(catalog),
    forget: (instanceId) => readyAt.delete(instanceId),
    instances: () => [...readyAt.keys()],
  };
}
