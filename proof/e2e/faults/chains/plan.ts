/** Derives chains and kills from a seed, independent of the clock. */
import type { Random } from "@klutch/kube";
import { seededRandom } from "@klutch/kube-testing";

/** Programs that are killed: Klutch's own between a claim and its database. */
export const programs = ["provider-anynines", "function-klutch", "broker"] as const;

/** One of them. */
export type Program = (typeof programs)[number];

/** Steps of a chain during which programs may be killed, in this order. */
export const steps = ["create", "bind", "backup", "restore", "keep", "delete"] as const;

/** One of them. */
export type Step = (typeof steps)[number];

/** One kill -9. */
export interface Kill {
  readonly program: Program;
  readonly step: Step;
  /** Time after the step began. */
  readonly afterMs: number;
  /** Time for which the program is killed again whenever it is back; 0: it may come back at once. */
  readonly downMs: number;
}

/** One life of a database. */
export interface ChainPlan {
  readonly name: string;
  readonly rows: number;
  readonly kills: readonly Kill[];
}

const killsOfStep = [0.7, 0.3];
const longestWaitMs = 3_000;
const longestDownMs = 5_000;
const mostRows = 2_000;

/** Returns the plan of a seed; always the same one. */
export function planOf(seed: number, chains: number): readonly ChainPlan[] {
  const random = seededRandom(seed);
  return Array.from({ length: chains }, (_, index) => ({
    name: `chain-${seed}-${index + 1}`,
    rows: 1 + Math.floor(random() * mostRows),
    kills: steps.flatMap((step) =>
      killsOfStep.filter((share) => random() < share).map(() => killIn(step, random)),
    ),
  }));
}

function killIn(step: Step, random: Random): Kill {
  const program = programs[Math.floor(random() * programs.length)] ?? "broker";
  return {
    program,
    step,
    // Most of a step's calls come soon after it began.
    afterMs: Math.round(random() ** 2 * longestWaitMs),
    downMs: random() < 0.5 ? 0 : Math.round(random() * longestDownMs),
  };
}
