/**
 * Case `floor`: what any agent that writes a finalizer and then a copy can reach at most on this machine, as the benchmark does the
 * same three writes itself, without an agent: nothing is watched, compared or decided.
 */
import { fieldManager, syncerFinalizer } from "@klutch/api";
import { namespaces } from "@klutch/kube-core";
import { inParallel } from "../harness/api.ts";
import { type ClaimRef, claimRef, numberedRefs } from "../harness/claims.ts";
import { percentiles, formatPercentiles } from "../harness/statistics.ts";
import { widget, widgets } from "../harness/widget.ts";
import { createNamespaces, mirrorOf, startBenchFixture, workNamespace } from "../harness/fixture.ts";
import { type BenchContext, contentsOf } from "./case.ts";

const workers = 8;
const warmUp = 10;

/** Case `floor`. */
export async function measureFloor(context: BenchContext): Promise<void> {
  const { agent, sizes, say, report } = context;
  await using fixture = await startBenchFixture({ agent });
  // Its work is done by hand here.
  await fixture.agent.stop();
  const consumer = fixture.consumer.cluster.client;
  const provider = fixture.provider.cluster.client;
  // Without a claim an agent need not have asked for the namespace of the copies.
  const mirror = mirrorOf(workNamespace);
  if ((await provider.find(namespaces, { name: mirror })) === undefined)
    await createNamespaces(fixture.provider.api, [mirror]);
  /** The claim, its finalizer, then the copy: the order that keeps a claim until its copy is gone. */
  const one = async ({ namespace, name, upstream }: ClaimRef): Promise<number> => {
    const claim = widget(namespace, name, contentsOf(context));
    const options = { fieldManager, force: true };
    const metadata = { namespace, name, finalizers: [syncerFinalizer] };
    const startedAt = performance.now();
    await consumer.create(widgets, claim);
    await consumer.apply(widgets, { apiVersion: claim.apiVersion, kind: claim.kind, metadata }, options);
    await provider.apply(widgets, { ...claim, metadata: upstream }, options);
    return performance.now() - startedAt;
  };
  const times: number[] = [];
  for (let index = 0; index < warmUp + sizes.latencyCount; index++)
    times.push(await one(claimRef(`alone-${index}`)));
  const alone = percentiles(times.slice(warmUp));
  say(`one at a time: ${formatPercentiles(alone)}`);
  const startedAt = performance.now();
  await inParallel(numberedRefs("burst", sizes.burst), one, workers);
  const rate = (sizes.burst * 1000) / (performance.now() - startedAt);
  say(`${sizes.burst} in ${workers} workers: ${rate.toFixed(0)}/s`);
  report("floor without an agent: three writes, p50", alone.p50, "ms");
  report("floor without an agent: three writes, p99", alone.p99, "ms");
  report(`floor without an agent: burst of ${sizes.burst}`, rate, "/s");
}
