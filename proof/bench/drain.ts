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
import { measureEndings } from "./harness/endings.ts";
import { runBenchmark } from "./harness/program.ts";
import { startDrainFixture } from "./drain/fixture.ts";

async function main({ claims }: { readonly claims: number }): Promise<void> {
  const unfit = await whyUnfit();
  if (unfit !== undefined) throw new Error(unfit);
  await using fixture = await startDrainFixture();
  await measureEndings(fixture, { claims, secrets: 20, rounds: 1 }, [
    { title: "nothing is evicted" },
    { title: "konnector", happens: () => evictAll(fixture.appCluster.client, consumerNamespace) },
    { title: "backend", happens: () => evictAll(fixture.controlPlane.client, backendPolicyName) },
  ]);
}

/**
 * Evicts the Pods one after the other, the leader first, and retries each until the PodDisruptionBudget allows it. Resolves when as many new
 * Pods are Ready, and prints the lowest number of Pods that were Ready and not terminating meanwhile. The lease has the name of the namespace.
 */
async function evictAll(client: KubeClient, where: string): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  const look = async (): Promise<readonly string[]> => {
    const { items } = await client.list<DynamicObject>(pods, { namespace: where });
    const ready = items.filter((pod) => isTrue(conditionsOf(pod), "Ready") && !isDeleting(pod));
    fewest = Math.min(fewest, ready.length);
    return ready.map(({ metadata }) => metadata.name ?? "");
  };
  const holder = textAt((await client.get(leases, { namespace: where, name: where })).spec, "holderIdentity");
  const names = (await look()).toSorted((one) => (one === holder ? -1 : 1));
  const patience = { timeoutMs: 120_000, intervalMs: 200 };
  for (const name of names) {
    const isEvicted = async (): Promise<boolean> => (await look()).length > 0 && evict(client, where, name);
    await waitFor("the eviction", isEvicted, patience);
  }
  const isWhole = async (): Promise<boolean> => {
    const ready = await look();
    return ready.length === names.length && !ready.some((name) => names.includes(name));
  };
  await waitFor("the new Pods", isWhole, patience);
  console.log(`${where}: never fewer than ${fewest} Ready`);
}

/** Evicts a Pod (policy/v1); returns whether the PodDisruptionBudget allowed it. */
async function evict(client: KubeClient, where: string, name: string): Promise<boolean> {
  const path = `/api/v1/namespaces/${where}/pods/${name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: where, name } };
  return client.request({ method: "POST", path, body }).then(
    () => true,
    (error: unknown) => {
      if (isTooManyRequests(error)) return false;
      throw error;
    },
  );
}

process.exitCode = await runBenchmark({ claims: 100 }, main);
