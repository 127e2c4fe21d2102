/** Runs all chains of a plan, some at a time, and judges the result. */
import { runChain } from "./chain.ts";
import { type ChainResult, judge, type Verdict } from "./judge.ts";
import { leftOver } from "./left-over.ts";
import { type ChainPlan, type Program, programs } from "./plan.ts";
import type { Fixture } from "./fixture.ts";

/** Figures of one run. */
export interface RunResult extends Verdict {
  readonly chains: readonly ChainResult[];
  readonly kills: Readonly<Record<Program, number>>;
  /** Kills that found their program down already. */
  readonly missed: number;
  /** Databases, logins, rows, dumps and objects that are left although every claim is gone. */
  readonly orphaned: readonly string[];
  readonly seconds: number;
}

/** Runs `atOnce` chains at a time; `onEnd` hears of each. */
export async function runChains(
  fixture: Fixture,
  plans: readonly ChainPlan[],
  options: { readonly atOnce: number; readonly onEnd?: (result: ChainResult) => void },
): Promise<RunResult> {
  const began = performance.now();
  const chains: ChainResult[] = [];
  const waiting = plans.values();
  const work = async (): Promise<void> => {
    for (const plan of waiting) {
      const result = await runChain(fixture, plan);
      chains.push(result);
      options.onEnd?.(result);
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, work));
  const orphaned = await leftOver(fixture);
  const { kills, missed } = fixture.killer;
  const seconds = (performance.now() - began) / 1000;
  return { ...judge(chains, await fixture.ledger.entries()), chains, orphaned, kills, missed, seconds };
}

/** Returns the number of kills of all programs together. */
export function killsIn({ kills }: RunResult): number {
  return programs.reduce((sum, program) => sum + kills[program], 0);
}
