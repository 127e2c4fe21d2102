/**
 * Case `floor`: what any agent that writes a finalizer and then a copy can reach at most on this machine, as the benchmark does the
 * same three writes itself, without an agent: nothing is watched, compared or decided.
 */
import { fieldManager, syncerFinalizer } from "@klutch/api";
import { namespaces } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { inParallel } from "../harness/api.ts";
import { percentiles, formatPercentiles } from "../harness/statistics.ts";
import { widget, widgets } from "../harness/widget.ts";
import { createNamespaces, mirrorOf, startBenchWorld, workNamespace } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";

export const floorCase: BenchCase = { serves: ["floor"], run };

const workers = 8;

async function run({ agent, sizes, random, say, report }: BenchContext): Promise<void> {
  await using world = await startBenchWorld({ agent });
  // Its work is done by hand here.
  await world.agent.stop();
  const consumer = world.consumer.cluster.client;
  const provider = world.provider.cluster.client;
  // Without a claim an agent need not have asked for the namespace of the copies.
  const mirror = mirrorOf(workNamespace);
  if ((await provider.find(namespaces, { name: mirror })) === undefined)
    await createNamespaces(world.provider.api, [mirror]);
  const one = async (name: string): Promise<number> => {
    const claim = widget(workNamespace, name, { random, bytes: sizes.specBytes });
    const startedAt = performance.now();
    await consumer.create(widgets, claim);
    await copy(consumer, provider, name, claim);
    return performance.now() - startedAt;
  };
  const alone: number[] = [];
  for (let index = -10; index < sizes.latencyCount; index++) {
    const ms = await one(`alone-${index + 10}`);
    if (index >= 0) alone.push(ms);
  }
  say(`one at a time: ${formatPercentiles(percentiles(alone))}`);
  const names = Array.from({ length: sizes.burst }, (_, index) => `burst-${index}`);
  const startedAt = performance.now();
  await inParallel(names, one, workers);
  const rate = (sizes.burst * 1000) / (performance.now() - startedAt);
  say(`${sizes.burst} in ${workers} workers: ${rate.toFixed(0)}/s`);
  const { p50, p99 } = percentiles(alone);
  report({ metric: "floor without an agent: three writes, p50", unit: "ms", value: p50 });
  report({ metric: "floor without an agent: three writes, p99", unit: "ms", value: p99 });
  report({ metric: `floor without an agent: burst of ${sizes.burst}`, unit: "/s", value: rate });
}

/** The finalizer, then the copy: the order that keeps a claim until its copy is gone. */
async function copy(
  consumer: KubeClient,
  provider: KubeClient,
  name: string,
  claim: ReturnType<typeof widget>,
): Promise<void> {
  const options = { fieldManager, force: true };
  const { apiVersion, kind } = claim;
  const metadata = { namespace: workNamespace, name, finalizers: [syncerFinalizer] };
  await consumer.apply(widgets, { apiVersion, kind, metadata }, options);
  await provider.apply(
    widgets,
    { ...claim, metadata: { namespace: mirrorOf(workNamespace), name } },
    options,
  );
}
