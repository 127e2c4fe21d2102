/** Derives a plan from a seed: actions with pauses, independent of the clock. */
import { seededRandom } from "@klutch/kube-testing";

/** One of the two clusters. */
export type ClusterName = "consumer" | "provider";

/** Actions of the app cluster's users and of the provider's controllers, with how often they are drawn. */
const operations = {
  create: 5,
  edit: 8,
  label: 3,
  delete: 3,
  recreate: 2,
  status: 8,
  lateInit: 3,
  slow: 2,
  finish: 2,
  secret: 4,
  dropSecret: 1,
} as const;

export type Operation = keyof typeof operations;

/** The way in which plans use a fault. */
interface FaultUse {
  /** Number of times that every seed has it. Default 0. */
  readonly certain?: number;
  /** True if it may be drawn in addition. */
  readonly isDrawn?: boolean;
  /** Milliseconds, from and to. Default 0. */
  readonly forMs?: readonly [number, number];
}

const faults = {
  killAgent: { certain: 2, forMs: [50, 1_500] },
  killApi: { certain: 1, isDrawn: true, forMs: [50, 1_500] },
  killEtcd: { certain: 1, isDrawn: true, forMs: [50, 1_500] },
  cut: { certain: 1, isDrawn: true },
  refuse: { isDrawn: true, forMs: [800, 3_000] },
  blackHole: { certain: 1, forMs: [3_000, 6_000] },
  delay: { isDrawn: true, forMs: [800, 3_000] },
  truncate: { certain: 1, isDrawn: true },
  answer: { isDrawn: true },
  secondAgent: { isDrawn: true },
  /** Comes with `secondAgent`. */
  stopSecond: {},
  takeLease: { isDrawn: true },
  /** Only in long plans. */
  isolateAgent: { forMs: [17_000, 22_000] },
} as const;

export type Fault = keyof typeof faults;

/** One step. Every step has all fields; each kind uses those that mean something to it. */
export interface Action {
  readonly do: Operation | Fault;
  /** Index into the claims of the seed. */
  readonly claim: number;
  readonly cluster: ClusterName;
  /** Duration of the fault, or time that a killed process stays down. */
  readonly forMs: number;
  /** Pause before the step. */
  readonly pauseMs: number;
  /** Chooses among variants of the step. */
  readonly dice: number;
}

/** Everything of a seed. */
export interface Plan {
  readonly seed: number;
  /** `http`: by way of the fault proxy that knows watches; `direct`: HTTP/2, and the audit log knows the processes. */
  readonly route: Readonly<Record<ClusterName, "direct" | "http">>;
  readonly claims: readonly { readonly namespace: string; readonly name: string }[];
  readonly actions: readonly Action[];
}

/** Consumer namespaces with claims. */
export const claimNamespaces: readonly string[] = ["app", "shop"];

/** The claim of app cluster B, with the name that seed 1 uses in A, too. */
export const neighbourClaim = { namespace: "app", name: "w1-0" } as const;

/** Number of creations that come before the first fault, and have arrived by then. */
export const quietActions = 3;

/** Options of `planOf`. */
export interface PlanSize {
  /** Number of actions. Default 40. */
  readonly actions?: number;
  /** Cuts a leader off from its lease for longer than the lease lasts. Default false, because it takes half a minute. */
  readonly long?: boolean;
}

/** Returns the plan of a seed; always the same one. */
export function planOf(seed: number, { actions: count = 40, long = false }: PlanSize = {}): Plan {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const claims = Array.from({ length: 6 }, (_, index) => ({
    namespace: claimNamespaces[index % claimNamespaces.length] ?? "",
    // The same names in both namespaces.
    name: `w${seed}-${Math.floor(index / 2)}`,
  }));
  const chosen = faultsOf(random, Math.floor(count / 4));
  const others = Array.from({ length: Math.max(0, count - quietActions - chosen.length) }, () =>
    operationOf(random),
  );
  const step = (kind: Action["do"], claim: number): Action => ({
    do: kind,
    claim,
    cluster: random() < 0.5 ? "consumer" : "provider",
    forMs: durationOf(kind, random),
    pauseMs: 20 + below(300),
    dice: random(),
  });
  const longFaults = ["secondAgent", "isolateAgent"] as const;
  return {
    seed,
    route: { consumer: seed % 3 === 2 ? "http" : "direct", provider: seed % 3 === 1 ? "http" : "direct" },
    claims,
    actions: [
      ...Array.from({ length: quietActions }, (_, claim) => step("create", claim)),
      ...(long ? longFaults : []).map((kind) => step(kind, 0)),
      ...shuffled(random, [...chosen, ...others]).map((kind) => step(kind, below(claims.length))),
    ],
  };
}

/** Formats a plan for people, with one line for each step. */
export function formatPlan({ seed, route, claims, actions }: Plan): string {
  const lines = actions.map((action, index) => {
    const { namespace = "", name = "" } = claims[action.claim] ?? {};
    const number = String(index + 1).padStart(3);
    return `${number} after ${action.pauseMs} ms: ${action.do} ${namespace}/${name} | ${action.cluster} ${action.forMs} ms`;
  });
  return [`seed ${seed}, consumer ${route.consumer}, provider ${route.provider}`, ...lines].join("\n");
}

/** Returns true if the action is an operation, not a fault. */
export function isOperation(name: string): name is Operation {
  return name in operations;
}

const isFault = (name: string): name is Fault => name in faults;
const useOf = (fault: Fault): FaultUse => faults[fault];

function faultsOf(random: () => number, count: number): readonly Fault[] {
  const all = Object.keys(faults).filter(isFault);
  const certain = all.flatMap((fault) => Array.from({ length: useOf(fault).certain ?? 0 }, () => fault));
  const drawn = all.filter((fault) => useOf(fault).isDrawn === true);
  const chosen = [...certain, ...shuffled(random, drawn).slice(0, Math.max(0, count - certain.length))];
  return chosen.includes("secondAgent") ? [...chosen, "stopSecond"] : chosen;
}

function operationOf(random: () => number): Operation {
  const entries = Object.entries(operations);
  let left = random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  const [name = ""] = entries.find(([, weight]) => (left -= weight) < 0) ?? [];
  return isOperation(name) ? name : "edit";
}

function durationOf(kind: Action["do"], random: () => number): number {
  const [from, to] = (isFault(kind) ? useOf(kind).forMs : undefined) ?? [0, 0];
  return Math.round(from + random() * (to - from));
}

function shuffled<T>(random: () => number, items: readonly T[]): readonly T[] {
  const placed = items.map((item) => ({ item, at: random() }));
  return placed.toSorted((left, right) => left.at - right.at).map(({ item }) => item);
}
