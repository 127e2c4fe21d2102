/** Counts the agent's calls of one API server between two moments, from the server's own counters. */
import type { TestCluster } from "@klutch/kube-testing";
import { type BenchApi, callKey } from "./api.ts";
import { samplesOf } from "./metrics-text.ts";

/** Name of the FlowSchema that matches exactly the agent's account, which makes the server count its requests apart. */
export const agentFlowSchema = "bench-agent";

/** Counters of one server at one moment. */
export interface CallSnapshot {
  /** Requests of the agent's account, dispatched or refused, whatever they asked for; watches count once, at their start. */
  readonly byAgent: number;
  /** Ended requests of all accounts but the benchmark's, by `callKey`. Watches that are still open are not in it. */
  readonly byKind: ReadonlyMap<string, number>;
  /** Open watches of all accounts, by `group/resource`. */
  readonly watches: ReadonlyMap<string, number>;
}

/** Reads the counters. Costs the server some ten milliseconds of CPU: not while something is being timed. */
export async function snapshotCalls(cluster: TestCluster, api: BenchApi): Promise<CallSnapshot> {
  const text = String(await cluster.client.request({ method: "GET", path: "/metrics" }));
  const byKind = new Map<string, number>();
  for (const { labels, value } of samplesOf(text, "apiserver_request_total")) {
    const { verb = "", group = "", resource = "", subresource = "", code = "" } = labels;
    add(byKind, callKey(verb, { group, plural: resource }, code, subresource), value);
  }
  for (const [key, count] of api.calls) add(byKind, key, -count);
  const watches = new Map<string, number>();
  for (const { labels, value } of samplesOf(text, "apiserver_longrunning_requests")) {
    if (labels["verb"] === "WATCH") add(watches, `${labels["group"]}/${labels["resource"]}`, value);
  }
  const ofAgent = ["dispatched", "rejected"].flatMap((what) =>
    samplesOf(text, `apiserver_flowcontrol_${what}_requests_total`),
  );
  const byAgent = ofAgent
    .filter(({ labels }) => labels["flow_schema"] === agentFlowSchema)
    .reduce((sum, { value }) => sum + value, 0);
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
