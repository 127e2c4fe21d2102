/**
 * Case `timeline`: the parts of the way up and of the way down, by the API servers' own clocks. Their audit logs say when each write arrived and
 * when its answer was complete; both servers run on one machine, so their times can be compared. Each claim is one of case `latency`.
 */
import type { AuditedWrite } from "@klutch/kube-testing";
import { startBenchFixture } from "../harness/fixture.ts";
import { formatPercentiles, percentiles } from "../harness/statistics.ts";
import { widgets } from "../harness/widget.ts";
import { probeLatency } from "./arrivals.ts";
import type { BenchContext } from "./case.ts";

/**
 * The writes of one claim, as far as there are any: a person's create, the agent's finalizer and copy, the provider's status, and the agent's
 * write of it to the claim. The log holds no contents: the agent's first write of the claim itself is taken for the finalizer.
 */
type Life = Readonly<Record<"create" | "finalizer" | "copy" | "report" | "status", Write>>;
type Write = AuditedWrite | undefined;

/** The time from the arrival of a write to its answer; NaN without one. */
const took = (write: Write): number => (write?.completedAt ?? NaN) - (write?.receivedAt ?? NaN);
/** The time from the answer to the arrival of the next write; below 0 when a watch was faster than the answer. */
const gap = (from: Write, to: Write): number => (to?.receivedAt ?? NaN) - (from?.completedAt ?? NaN);

const parts: Readonly<Record<string, (life: Life) => number>> = {
  "create of the claim": ({ create }) => took(create),
  "end of create → finalizer arrives": ({ create, finalizer }) => gap(create, finalizer),
  "write of the finalizer": ({ finalizer }) => took(finalizer),
  "end of create → copy arrives": ({ create, copy }) => gap(create, copy),
  "write of the copy": ({ copy }) => took(copy),
  "end of create → copy done": ({ create, copy }) => gap(create, copy) + took(copy),
  "write of the provider's status": ({ report }) => took(report),
  "its end → claim's status arrives": ({ report, status }) => gap(report, status),
  "write of the claim's status": ({ status }) => took(status),
};

/** Case `timeline`. */
export async function measureTimeline(context: BenchContext): Promise<void> {
  const { setUp, sizes, say, report } = context;
  const resources = [{ group: widgets.group, resources: [widgets.plural, `${widgets.plural}/status`] }];
  await using fixture = await startBenchFixture({ ...setUp, auditRules: [{ level: "Metadata", resources }] });
  await probeLatency(fixture, context, sizes.latencyCount);
  // The first rounds warm up.
  const lives = livesOf(await fixture.consumer.writes(), await fixture.provider.writes()).slice(
    -sizes.latencyCount,
  );
  for (const [part, timeOf] of Object.entries(parts)) {
    const times = lives.map(timeOf).filter((time) => !Number.isNaN(time));
    say(`${part}  ${times.length === 0 ? "none" : formatPercentiles(percentiles(times))}`);
    if (times.length > 0) report(`timeline: ${part}, p50`, percentiles(times).p50, "ms");
  }
}

/**
 * Returns the life of each claim in the order of their creation. Knows no agent: every user but the one who created the claim is an agent.
 * Refused writes do not count.
 */
export function livesOf(
  consumer: readonly AuditedWrite[],
  provider: readonly AuditedWrite[],
): readonly Life[] {
  const created = consumer.filter(({ verb, code }) => verb === "create" && code === 201);
  return created.map((create) => {
    const isDone = ({ name, code }: AuditedWrite): boolean => name === create.name && code < 300;
    const isAgents = ({ userName }: AuditedWrite): boolean => userName !== create.userName;
    const [byAgent, upstream] = [consumer.filter(isDone).filter(isAgents), provider.filter(isDone)];
    const report = upstream.find((write) => write.subresource === "status" && !isAgents(write));
    // An agent may write a status before there is one upstream.
    const begin = report?.receivedAt ?? Number.POSITIVE_INFINITY;
    return {
      create,
      finalizer: byAgent.find(({ subresource }) => subresource === ""),
      // Server-side apply answers 201 as well.
      copy: upstream.find((write) => write.code === 201 && isAgents(write)),
      report,
      status: byAgent.find(({ subresource, receivedAt }) => subresource === "status" && receivedAt >= begin),
    };
  });
}
