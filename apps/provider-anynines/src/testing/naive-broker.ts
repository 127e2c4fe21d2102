/** A broker in memory that keeps a naive list of which instance had which plan, and from when to when. */
import type { Clock } from "@klutch/kube";
import { type FetchedInstance, OsbError, type OsbClient, type Outcome } from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";
import { catalogOf } from "./catalog.ts";

/** One instance with one plan. `to`: undefined while it lasts. In milliseconds since the epoch. */
export interface Interval {
  readonly instanceId: string;
  /** The context's `owner`: an instance that is made again has another id. */
  readonly owner: string;
  readonly plan: string;
  readonly from: number;
  to?: number;
}

/** Names of its plans; an id is `id of ` and the name. */
export const naivePlans = ["tiny", "middle", "large"] as const;

interface Instance {
  readonly owner: string;
  plan: string;
  work?: {
    readonly type: "create" | "update" | "delete";
    readonly plan: string;
    readonly readyAt: number;
    readonly fails: boolean;
  };
}

/** A broker, and its list. */
export interface NaiveBroker extends Broker {
  /** Everything that ever existed, by the broker's own wall clock. */
  readonly intervals: readonly Interval[];
  /** Ids of the instances that exist or are made. */
  readonly instances: () => readonly string[];
  /** Further fields of the answer to a fetch, by instance id. */
  readonly told: Map<string, Partial<FetchedInstance>>;
  /** Loses an instance, as a broker with other data does. */
  readonly lose: (instanceId: string) => void;
}

const takesMs = 5_000;
const idOf = (plan: string): string => `id of ${plan}`;

/** Each operation is done at once, later, or, of creates, fails, as `random` decides. */
export function naiveBroker(clock: Clock, random: () => number): NaiveBroker {
  const instances = new Map<string, Instance>();
  const intervals: Interval[] = [];
  const told = new Map<string, Partial<FetchedInstance>>();
  const answered = (status: number): OsbError =>
    new OsbError({ status, error: "", description: "", own: true, action: "PUT x" });
  const end = (instanceId: string): void => {
    const open = intervals.find(
      (interval) => interval.instanceId === instanceId && interval.to === undefined,
    );
    if (open !== undefined) open.to = clock.now();
  };
  const begin = (instanceId: string, owner: string, plan: string): void => {
    end(instanceId);
    intervals.push({ instanceId, owner, plan, from: clock.now() });
  };
  const finish = (instanceId: string, instance: Instance): void => {
    const { work } = instance;
    delete instance.work;
    if (work?.type === "delete") {
      instances.delete(instanceId);
      end(instanceId);
    } else if (work !== undefined) {
      instance.plan = work.plan;
      begin(instanceId, instance.owner, work.plan);
    }
  };
  const start = (
    instanceId: string,
    type: "create" | "update" | "delete",
    plan: string,
    owner = "",
  ): Outcome => {
    const instance = instances.get(instanceId) ?? { plan, owner };
    instances.set(instanceId, instance);
    const fails = type === "create" && random() < 0.05;
    instance.work = { type, plan, readyAt: clock.monotonic() + takesMs, fails };
    if (fails || random() < 0.5) return { kind: "accepted" };
    finish(instanceId, instance);
    return { kind: "done" };
  };
  const osb: Partial<OsbClient> = {
    async provision({ instanceId, planId, context }) {
      const there = instances.get(instanceId);
      if (there?.work !== undefined) return { kind: "accepted" };
      return there === undefined
        ? start(instanceId, "create", planId, String(context?.["owner"]))
        : { kind: "done" };
    },
    async update({ instanceId, planId }) {
      const there = instances.get(instanceId);
      if (there === undefined) throw answered(404);
      if (there.work !== undefined) return { kind: "accepted" };
      return there.plan === planId ? { kind: "done" } : start(instanceId, "update", planId);
    },
    async deprovision({ instanceId }) {
      const there = instances.get(instanceId);
      if (there === undefined) throw answered(410);
      if (there.work?.type === "delete") return { kind: "accepted" };
      return start(instanceId, "delete", there.plan);
    },
    async lastOperation({ instanceId }) {
      const there = instances.get(instanceId);
      if (there === undefined) throw answered(410);
      const { work } = there;
      if (work !== undefined && clock.monotonic() < work.readyAt)
        return { state: "in progress", description: "" };
      if (work?.fails === true) return { state: "failed", description: "no room" };
      finish(instanceId, there);
      return { state: "succeeded", description: "" };
    },
    async fetchInstance(instanceId) {
      const there = instances.get(instanceId);
      if (there === undefined || there.work?.type === "create") throw answered(404);
      return { serviceId: "s", planId: there.plan, ...told.get(instanceId) };
    },
  };
  const catalog = catalogOf(
    {},
    naivePlans.map((name) => ({ id: idOf(name), name })),
  );
  return {
    // These tests call no other method.
    osb: osb as OsbClient,
    catalog: () => Promise.resolve(catalog),
    intervals,
    told,
    instances: () => [...instances.keys()],
    lose: (instanceId) => {
      instances.delete(instanceId);
      end(instanceId);
    },
  };
}

/** The name of a plan by its id. */
export function naivePlanName(id: string): string {
  return id.slice(idOf("").length);
}
