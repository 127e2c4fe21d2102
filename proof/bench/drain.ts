/**
 * `npm run bench:drain`: what users notice when the Pods of konnector and backend are evicted one after the other in a burst of edits, as
 * `kubectl drain` does it, on real nodes. Each cluster has one node only, so no node is cordoned: the new Pods come back to the same one.
 * `--claims 100`. Needs root.
 */
import { backendPolicyName, consumerNamespace } from "@klutch/api";
import { isTooManyRequests, type KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  isDeleting,
  isTrue,
  leases,
  pods,
  textAt,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { whyUnfit } from "@klutch/nodes";
import { describeLoad } from "./harness/machine.ts";
import { runBenchmark } from "./harness/program.ts";
import { editClaims, type LivingFixture, makeLivingClaims } from "../e2e/upgrade/living-claims.ts";
import { measureStretch } from "../e2e/upgrade/measured.ts";
import type { Traffic } from "../e2e/upgrade/traffic.ts";
import { startDrainFixture } from "./drain/fixture.ts";

async function main({ claims }: { readonly claims: number }): Promise<void> {
  const unfit = await whyUnfit();
  if (unfit !== undefined) throw new Error(unfit);
  await using fixture = await startDrainFixture();
  const { client: consumer } = fixture.appCluster;
  const { client: provider } = fixture.controlPlane;
  const names = await makeLivingClaims(fixture, { claims, secrets: Math.min(20, claims) });
  await using traffic = editClaims(fixture, { names: names.slice(0, 50) });
  console.log(`${claims} claims, two Pods of each part; load ${describeLoad()}`);
  await measure(fixture, traffic, "nothing is evicted", undefined);
  await measure(fixture, traffic, "konnector", { client: consumer, namespace: consumerNamespace });
  await measure(fixture, traffic, "backend", { client: provider, namespace: backendPolicyName });
}

/** A program whose Pods are evicted; its lease has the name of its namespace. */
interface Part {
  readonly client: KubeClient;
  readonly namespace: string;
}

async function measure(
  fixture: LivingFixture,
  traffic: Traffic,
  title: string,
  part: Part | undefined,
): Promise<void> {
  let fewest = "";
  const happens = async (): Promise<void> => {
    if (part !== undefined) fewest = `, never fewer than ${await evictAll(part)} Ready`;
  };
  const seen = await measureStretch(fixture, traffic, { name: `drain ${title}`, happens });
  console.log(
    `${title}${fewest}: ${seen.edits} edits, ${seen.failed} failed; slowest ${seen.slowestMs.toFixed(0)} ms; not ready ${seen.unreadyMs.toFixed(0)} ms; ` +
      `${seen.needless.length} needless writes`,
  );
}

/**
 * Evicts the Pods one after the other, the leader first, and retries each until the PodDisruptionBudget allows it. Resolves when as many new
 * Pods are Ready, to the lowest number of Pods that were Ready and not terminating meanwhile.
 */
async function evictAll({ client, namespace: where }: Part): Promise<number> {
  const readyPods = async (): Promise<readonly string[]> => {
    const { items } = await client.list<DynamicObject>(pods, { namespace: where });
    const ready = items.filter((pod) => isTrue(conditionsOf(pod), "Ready") && !isDeleting(pod));
    return ready.map(({ metadata }) => metadata.name ?? "");
  };
  const holder = textAt((await client.get(leases, { namespace: where, name: where })).spec, "holderIdentity");
  const names = (await readyPods()).toSorted((one) => (one === holder ? -1 : 1));
  let fewest = names.length;
  const look = async (): Promise<readonly string[]> => {
    const ready = await readyPods();
    fewest = Math.min(fewest, ready.length);
    return ready;
  };
  const patience = { timeoutMs: 120_000, intervalMs: 200 };
  for (const name of names)
    await waitFor(
      "the eviction",
      async () => (await look()).length > 0 && evict(client, where, name),
      patience,
    );
  const isWhole = async (): Promise<boolean> => {
    const ready = await look();
    return ready.length === names.length && !ready.some((name) => names.includes(name));
  };
  await waitFor("the new Pods", isWhole, patience);
  return fewest;
}

/** Evicts a Pod (policy/v1); returns whether the PodDisruptionBudget allowed it. */
async function evict(client: KubeClient, where: string, name: string): Promise<boolean> {
  const metadata = { namespace: where, name };
  const path = `/api/v1/namespaces/${where}/pods/${name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata };
  try {
    await client.request({ method: "POST", path, body });
    return true;
  } catch (error) {
    if (!isTooManyRequests(error)) throw error;
    return false;
  }
}

process.exitCode = await runBenchmark({ claims: 100 }, main);
