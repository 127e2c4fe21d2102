/** Runs all chains of a plan, some at a time, looks for remains, and judges the result. */
import {
  backups as managedBackups,
  managedServiceBindings,
  providerConfigUsages,
  restores as managedRestores,
  serviceInstances,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, type ResourceType, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { claimTypes, compositeOf } from "../../claim-kinds.ts";
import { runChain } from "./chain.ts";
import { claimNamespace, type Fixture } from "./fixture.ts";
import { type ChainResult, judge, type Verdict } from "./judge.ts";
import { type ChainPlan, type Program, programs } from "./plan.ts";

/** Figures of one run. */
export interface RunResult extends Verdict {
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
  return { ...judge(chains, await fixture.ledger.entries()), orphaned, kills, missed, seconds };
}

/** Returns the number of kills of all programs together. */
export function killsIn({ kills }: RunResult): number {
  return programs.reduce((sum, program) => sum + kills[program], 0);
}

/** Returns all databases, logins, rows, dumps and objects of the control plane that are still left after three minutes. */
async function leftOver({ client, ledger }: Fixture): Promise<readonly string[]> {
  let left: readonly string[] = [];
  const isEmpty = async (): Promise<boolean> => {
    left = [...(await ledger.holdings()), ...(await objectsLeft(client))];
    return left.length === 0;
  };
  const patience = { timeoutMs: 180_000, intervalMs: 1_000 };
  await waitFor("everything to be gone", isEmpty, patience).catch((error: unknown) => {
    if (left.length === 0) throw error;
  });
  return left;
}

const leftTypes: readonly ResourceType[] = [
  ...claimTypes,
  ...claimTypes.map(compositeOf),
  serviceInstances,
  managedServiceBindings,
  managedBackups,
  managedRestores,
  providerConfigUsages,
];

/** Returns `kind name` of each existing object. */
async function objectsLeft(client: KubeClient): Promise<readonly string[]> {
  const namesOf = async (type: ResourceType, namespace?: string): Promise<readonly string[]> => {
    const { items } = await client.list<DynamicObject>(type, { namespace });
    return items.map(({ metadata }) => `${type.kind} ${metadata.name}`);
  };
  const lists = leftTypes.map((type) => namesOf(type));
  return (await Promise.all([...lists, namesOf(secrets, claimNamespace)])).flat();
}
