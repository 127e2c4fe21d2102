/** People who apply claims and change them while something ends: what they see, and how long they wait. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  type KubeObject,
  numberAt,
  type ObjectRef,
  refOfObject,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { objectOfType, waitFor } from "@klutch/kube-testing";
import { instances, nano } from "../../e2e/claim-kinds.ts";

/** Namespace of the claims in the app cluster. */
export const claimNamespace = "rolling";
const otherPlan = "postgresql-single-small";
const betweenMs = 1_500;
const patience = { timeoutMs: 180_000, intervalMs: 250 };

/** The results of a burst. */
export interface Seen {
  /** Requests that the person's API server did not take. */
  readonly failed: number;
  /** Claims that were not ready in three minutes, with their conditions. */
  readonly lost: readonly string[];
  /** Milliseconds from each request until the claim is ready as requested, to a quarter of a second. */
  readonly waits: readonly number[];
}

/** Makes the claims one after the other; `during` is called before each of them with its number. */
export function create(client: KubeClient, names: readonly string[], during: During): Promise<Seen> {
  return burst(client, names, during, (ref) =>
    client.create(instances, objectOfType(instances, ref, { spec: nano })),
  );
}

/** Gives each claim the other plan, in the same way. */
export function change(client: KubeClient, names: readonly string[], during: During): Promise<Seen> {
  return burst(client, names, during, (ref) =>
    client.mergePatch<DynamicObject>(instances, ref, { spec: { plan: otherPlan } }),
  );
}

/** Deletes the claims, and waits until they are gone. */
export async function remove(client: KubeClient, names: readonly string[]): Promise<void> {
  for (const name of names) await client.delete(instances, { namespace: claimNamespace, name });
  const options = { namespace: claimNamespace };
  const isEmpty = async (): Promise<boolean> =>
    (await client.list<KubeObject>(instances, options)).items.length === 0;
  await waitFor("the claims to be gone", isEmpty, patience);
}

/** Called before each request with its number, from 0 on. */
export type During = (number: number) => Promise<void>;

async function burst(
  client: KubeClient,
  names: readonly string[],
  during: During,
  ask: (ref: ObjectRef) => Promise<DynamicObject>,
): Promise<Seen> {
  const waits: Promise<number | undefined>[] = [];
  const lost: string[] = [];
  let failed = 0;
  for (const [number, name] of names.entries()) {
    await during(number);
    const began = performance.now();
    const asked = await ask({ namespace: claimNamespace, name }).catch(() => undefined);
    if (asked === undefined) failed++;
    else
      waits.push(
        untilReady(client, asked).then(
          () => performance.now() - began,
          (error: unknown) => void lost.push(String(error)),
        ),
      );
    await sleep(betweenMs);
  }
  const all = await Promise.all(waits);
  return { failed, lost, waits: all.filter((one) => one !== undefined) };
}

/** Its word counts for the spec that was asked for. */
async function untilReady(client: KubeClient, claim: DynamicObject): Promise<void> {
  const { name, generation } = claim.metadata;
  const isReady = async (): Promise<boolean> => {
    const { status } = await client.get<DynamicObject>(instances, refOfObject(claim));
    const ready = findCondition(conditionsOf({ status }), "Ready");
    const observed = numberAt(ready, "observedGeneration") ?? numberAt(status, "observedGeneration");
    if (ready?.status === "True" && observed === generation) return true;
    throw new Error(JSON.stringify(status));
  };
  await waitFor(`${name} to be ready`, isReady, patience);
}
