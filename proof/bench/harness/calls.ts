/** Counts the agent's calls between two moments from the API servers' own counters, and knows by them when it has nothing left to do. */
import { setTimeout as sleep } from "node:timers/promises";
import { serverMetrics, type TestCluster, samplesOf } from "@klutch/kube-testing";
import { type BenchApi, callKey } from "./api.ts";

/** Name of the FlowSchema that matches exactly the agent's account, which makes the server count its requests apart. */
export const agentFlowSchema = "bench-agent";

/** Counters of one server at one moment. */
export interface CallSnapshot {
  /** Requests of the agent's account, dispatched or refused, whatever they asked for; watches count once, at their start. */
  readonly byAgent: number;
  /** Ended requests of all accounts but the benchmark's, by `callKey`. Watches that are still open are not in it. */
  readonly byKind: ReadonlyMap<string, number>;
  /** Open watches of all accounts. */
  readonly watches: number;
}

/** Reads the counters. Costs the server some ten milliseconds of CPU: not while something is being timed. */
export async function snapshotCalls(cluster: TestCluster, api: BenchApi): Promise<CallSnapshot> {
  const text = await serverMetrics(cluster);
  const byKind = new Map<string, number>();
  for (const { labels, value } of samplesOf(text, "apiserver_request_total")) {
    const { verb = "", group = "", resource = "", subresource = "", code = "" } = labels;
    add(byKind, callKey(verb, { group, plural: resource }, code, subresource), value);
  }
  for (const [key, count] of api.calls) add(byKind, key, -count);
  const sumOf = (name: string, label: string, wanted: string): number =>
    samplesOf(text, name).reduce((sum, { labels, value }) => sum + (labels[label] === wanted ? value : 0), 0);
  const watches = sumOf("apiserver_longrunning_requests", "verb", "WATCH");
  const [dispatched, rejected] = ["dispatched", "rejected"].map((what) =>
    sumOf(`apiserver_flowcontrol_${what}_requests_total`, "flow_schema", agentFlowSchema),
  );
  const byAgent = (dispatched ?? 0) + (rejected ?? 0);
  return { byAgent, byKind, watches };
}

/** One kind of call and how often it was made. */
export interface CallCount {
  readonly verb: string;
  /** `group/resource` or `group/resource/subresource`. */
  readonly resource: string;
  readonly code: string;
  readonly count: number;
}

/** The calls between two snapshots. */
export interface CallDifference {
  readonly byAgent: number;
  readonly byKind: readonly CallCount[];
}

/** Returns the calls between two snapshots, without kinds of call that did not happen. */
export function callsBetween(before: CallSnapshot, after: CallSnapshot): CallDifference {
  const byKind: CallCount[] = [];
  for (const [key, value] of after.byKind) {
    const count = value - (before.byKind.get(key) ?? 0);
    const [verb = "", resource = "", code = ""] = key.split(" ");
    if (count !== 0) byKind.push({ verb, resource, code, count });
  }
  return { byAgent: after.byAgent - before.byAgent, byKind };
}

const writeVerbs = new Set(["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"]);

/** Tells whether the call wanted to change something. */
export function isWrite({ verb }: CallCount): boolean {
  return writeVerbs.has(verb);
}

/** Tells whether the call was refused. */
export function isFailed({ code }: CallCount): boolean {
  return Number(code) >= 400 || Number(code) === 0;
}

/**
 * Tells whether a call can be the agent's: kinds of the benchmark and of bind, events and Secrets. API servers themselves keep asking for
 * leases, namespaces and ConfigMaps.
 */
export function isOfSync({ verb, resource }: CallCount): boolean {
  const [group = "", plural = ""] = resource.split("/");
  return (
    verb !== "WATCH" &&
    (/klutch/.test(group) || plural === "events" || (group === "" && plural === "secrets"))
  );
}

/** Sum of the counts. */
export function totalOf(calls: readonly CallCount[]): number {
  return calls.reduce((sum, { count }) => sum + count, 0);
}

/** Describes calls for people: `3 APPLY widgets 200, 1 …`, the most frequent first. */
export function describeCalls(calls: readonly CallCount[], per = 1): string {
  return calls
    .toSorted((left, right) => right.count - left.count)
    .map(({ verb, resource, code, count }) => {
      const name = resource.split("/").slice(1).join("/");
      const number = per === 1 ? String(count) : (count / per).toFixed(2);
      return `${number} ${verb} ${name} ${code}`;
    })
    .join(", ");
}

function add(counts: Map<string, number>, key: string, value: number): void {
  counts.set(key, (counts.get(key) ?? 0) + value);
}

/** Both clusters, and the text to print when the agent does not come to rest. */
export interface CountedSides {
  readonly consumer: { calls(): Promise<CallSnapshot> };
  readonly provider: { calls(): Promise<CallSnapshot> };
  readonly problem: () => Promise<string>;
}

const checkEveryMs = 1500;
/** Requests a second on both clusters together that leases and the like may make for ever. */
const restingRate = 3;

/**
 * Waits until the agent's account made next to no request in two intervals on end. Throws when it takes longer than `timeoutMs` (default 10
 * minutes).
 */
export async function untilQuiet(fixture: CountedSides, timeoutMs = 600_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let quiet = 0; quiet < 2; ) {
    const { byAgent } = await callsDuring(fixture, () => sleep(checkEveryMs));
    const rate = (byAgent * 1000) / checkEveryMs;
    quiet = rate <= restingRate ? quiet + 1 : 0;
    if (performance.now() > deadline) {
      const what = `the agent still makes ${rate.toFixed(1)} calls/s after ${timeoutMs / 1000} s`;
      throw new Error(`${what}\n${await fixture.problem()}`);
    }
  }
}

/** Counts the calls on both clusters while `work` goes on. */
export async function callsDuring(
  { consumer, provider }: CountedSides,
  work: () => Promise<unknown>,
): Promise<CallDifference> {
  const before = [await consumer.calls(), await provider.calls()] as const;
  await work();
  const ofConsumer = callsBetween(before[0], await consumer.calls());
  const ofProvider = callsBetween(before[1], await provider.calls());
  return {
    byKind: [...ofConsumer.byKind, ...ofProvider.byKind],
    byAgent: ofConsumer.byAgent + ofProvider.byAgent,
  };
}

/** Counts the calls for what `work` causes, from one quiet moment to the next. */
export async function counted(fixture: CountedSides, work: () => Promise<unknown>): Promise<CallDifference> {
  await untilQuiet(fixture);
  return callsDuring(fixture, async () => {
    await work();
    await untilQuiet(fixture);
  });
}
