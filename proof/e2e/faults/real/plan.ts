/** Derives a plan from a seed: actions with pauses, independent of the clock. */
import { seededRandom } from "@klutch/kube-testing";

/** One of the two clusters. */
export type ClusterName = "consumer" | "provider";

/** An action of the users of the app cluster. */
export type UserAction = "create" | "edit" | "label" | "delete" | "recreate";
/** An action of the provider's controllers. */
export type ProviderAction = "status" | "lateInit" | "slow" | "finish" | "secret" | "dropSecret";
/** A fault. */
export type FaultAction =
  | "killAgent"
  | "killApi"
  | "killEtcd"
  | "cut"
  | "refuse"
  | "blackHole"
  | "delay"
  | "truncate"
  | "answer"
  | "secondAgent"
  | "stopSecond"
  | "takeLease"
  | "isolateAgent";

/** One step. Every step has all fields; each kind uses those that mean something to it. */
export interface Action {
  readonly do: UserAction | ProviderAction | FaultAction;
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

const operations: Readonly<Record<UserAction | ProviderAction, number>> = {
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
};

/** Faults that every seed has, in addition to the drawn ones. */
const certain: readonly FaultAction[] = [
  "killAgent",
  "killAgent",
  "killApi",
  "killEtcd",
  "cut",
  "blackHole",
  "truncate",
];
const drawn: readonly FaultAction[] = [
  "killApi",
  "killEtcd",
  "cut",
  "refuse",
  "delay",
  "truncate",
  "answer",
  "secondAgent",
  "takeLease",
];

const longFaults: readonly FaultAction[] = ["secondAgent", "isolateAgent"];

/** Number of creations that come before the first fault, and have arrived by then. */
export const quietActions = 3;

/** Options of `planOf`. */
export interface PlanSize {
  /** Number of actions. Default 40. */
  readonly actions?: number | undefined;
  /** Cuts a leader off from its lease for longer than the lease lasts. Default false, because it takes half a minute. */
  readonly long?: boolean | undefined;
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
  const faults = faultsOf(random, Math.floor(count / 4));
  const kinds = shuffled(random, [
    ...faults,
    ...Array.from({ length: Math.max(0, count - quietActions - faults.length) }, () => operationOf(random)),
  ]);
  const step = (kind: Action["do"], claim: number): Action => ({
    do: kind,
    claim,
    cluster: random() < 0.5 ? "consumer" : "provider",
    forMs: durationOf(kind, random),
    pauseMs: 20 + below(300),
    dice: random(),
  });
  return {
    seed,
    route: { consumer: seed % 3 === 2 ? "http" : "direct", provider: seed % 3 === 1 ? "http" : "direct" },
    claims,
    actions: [
      ...Array.from({ length: quietActions }, (_, claim) => step("create", claim)),
      ...(long ? longFaults : []).map((kind) => step(kind, 0)),
      ...kinds.map((kind) => step(kind, below(claims.length))),
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

function faultsOf(random: () => number, count: number): FaultAction[] {
  const rest = shuffled(random, drawn).slice(0, Math.max(0, count - certain.length));
  const faults = [...certain, ...rest];
  return faults.includes("secondAgent") ? [...faults, "stopSecond"] : faults;
}

function operationOf(random: () => number): UserAction | ProviderAction {
  const entries = Object.entries(operations);
  let left = random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  const found = entries.find(([, weight]) => (left -= weight) < 0);
  return isOperation(found?.[0]) ? found[0] : "edit";
}

const isOperation = (name: string | undefined): name is UserAction | ProviderAction =>
  name !== undefined && name in operations;

/** Milliseconds, from and to. */
const durations: Readonly<Partial<Record<Action["do"], readonly [number, number]>>> = {
  blackHole: [3_000, 6_000],
  isolateAgent: [17_000, 22_000],
  delay: [800, 3_000],
  refuse: [800, 3_000],
  killApi: [50, 1_500],
  killEtcd: [50, 1_500],
  killAgent: [50, 1_500],
};

function durationOf(kind: Action["do"], random: () => number): number {
  const [from, to] = durations[kind] ?? [0, 0];
  return Math.round(from + random() * (to - from));
}

function shuffled<T>(random: () => number, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((left, right) => left.at - right.at)
    .map(({ item }) => item);
}
