/** All chains of a plan, some at a time, and what came of them. */
import { waitFor } from "@klutch/kube-testing";
import { runChain } from "./chain.ts";
import { objectsLeft } from "./claims.ts";
import { type ChainResult, judge, type Verdict } from "./judge.ts";
import { type ChainPlan, type Program, programs } from "./plan.ts";
import type { World } from "./world.ts";

/** Figures of one run. */
export interface RunResult extends Verdict {
  readonly chains: readonly ChainResult[];
  readonly kills: Readonly<Record<Program, number>>;
  /** Kills that found their program down already. */
  readonly missed: number;
  /** What is there although every claim is gone: databases, logins, rows, dumps, objects. */
  readonly orphaned: readonly string[];
  readonly seconds: number;
}

const restMs = 180_000;

/** Runs `atOnce` chains at a time; `onEnd` hears of each. */
export async function runChains(
  world: World,
  plans: readonly ChainPlan[],
  options: { readonly atOnce: number; readonly onEnd?: (result: ChainResult) => void },
): Promise<RunResult> {
  const began = performance.now();
  const chains: ChainResult[] = [];
  const waiting = plans.values();
  const work = async (): Promise<void> => {
    for (const plan of waiting) {
      const result = await runChain(world, plan);
      chains.push(result);
      options.onEnd?.(result);
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, work));
  const orphaned = await leftOver(world);
  const { killer, ledger } = world;
  return {
    ...judge(chains, await ledger.entries()),
    chains,
    orphaned,
    kills: {
      "provider-anynines": killer.killsOf("provider-anynines"),
      "function-klutch": killer.killsOf("function-klutch"),
      broker: killer.killsOf("broker"),
    },
    missed: killer.missed,
    seconds: (performance.now() - began) / 1000,
  };
}

/** What does not go by itself in three minutes. */
async function leftOver({ client, ledger }: World): Promise<readonly string[]> {
  let left: readonly string[] = [];
  const isEmpty = async (): Promise<boolean> => {
    const held: readonly (readonly string[])[] = Object.values(await ledger.holdings());
    left = [...held.flat(), ...(await objectsLeft(client))];
    return left.length === 0;
  };
  await waitFor("everything to be gone", isEmpty, { timeoutMs: restMs, intervalMs: 1_000 }).catch(
    (error: unknown) => {
      if (left.length === 0) throw error;
    },
  );
  return left;
}

/** Of all programs. */
export function killsIn({ kills }: RunResult): number {
  return programs.reduce((sum, program) => sum + kills[program], 0);
}
