/** Measures a provider with many instances: calls and memory while nothing happens, and the time from a change until the other side has it. */
import { setTimeout as sleep } from "node:timers/promises";
import { serviceInstances } from "@klutch/api";
import { conditionsOf, type DynamicObject, isTrue } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { callsBetween, type CallCount, describeCalls, isOfSync, snapshotCalls } from "../harness/calls.ts";
import { cpuSecondsOf, memoryOf } from "../harness/process-memory.ts";
import type { Fixture } from "./fixture.ts";

/** An instance. */
export interface Instance {
  readonly name: string;
  /** At the broker. */
  readonly id: string;
}

const patience = { timeoutMs: 180_000, intervalMs: 5 };

/** Milliseconds from a change of the object until the broker has begun to change the instance; one after the other. */
export async function noticeObjects({ api, store }: Fixture, all: readonly Instance[]): Promise<number[]> {
  const times: number[] = [];
  for (const { name, id } of all) {
    const began = performance.now();
    const parameters = { max_connections: 15 };
    await api.patch(serviceInstances, { name }, { spec: { forProvider: { parameters } } });
    const text = "select 1 from public.instances where id = $1 and parameters ->> 'max_connections' = '15'";
    const hasBegun = async (): Promise<boolean> => (await store.query(text, [id])).rowCount === 1;
    await waitFor(`the broker to have the change of ${name}`, hasBegun, patience);
    times.push(performance.now() - began);
  }
  return times;
}

/** Milliseconds until an instance that was changed at the broker is changed back; all at the same time. */
export async function noticePlans({ store, plans }: Fixture, all: readonly Instance[]): Promise<number[]> {
  const other = plans.get("postgresql-single-small");
  const ids = all.map(({ id }) => id);
  await store.query("update public.instances set plan_id = $2 where id = any ($1)", [ids, other]);
  return whenEach(ids, async (waiting) => {
    const text = "select id from public.instances where id = any ($1) and plan_id <> $2";
    const { rows } = await store.query<{ id: string }>(text, [waiting, other]);
    return rows.map(({ id }) => id);
  });
}

/** Milliseconds until an instance that the broker lost is shown as not ready; all at the same time. */
export async function noticeLosses({ api, store }: Fixture, all: readonly Instance[]): Promise<number[]> {
  const ids = all.map(({ id }) => id);
  await store.query("delete from public.instances where id = any ($1)", [ids]);
  const names = all.map(({ name }) => name);
  return whenEach(names, async (waiting) => {
    const objects = await Promise.all(waiting.map((name) => api.get(serviceInstances, { name })));
    return objects.filter((object) => !isReady(object)).map(({ metadata }) => metadata.name ?? "");
  });
}

/** Tells whether an instance's condition Ready is True. */
export function isReady(object: DynamicObject): boolean {
  return isTrue(conditionsOf(object), "Ready");
}

/** Returns the milliseconds from now until `ended` first named each key. */
async function whenEach(
  keys: readonly string[],
  ended: (waiting: readonly string[]) => Promise<readonly string[]>,
): Promise<number[]> {
  const began = performance.now();
  const times = new Map<string, number>();
  const areNoticed = async (): Promise<boolean> => {
    const waiting = keys.filter((key) => !times.has(key));
    for (const key of await ended(waiting)) times.set(key, performance.now() - began);
    return times.size === keys.length;
  };
  await waitFor(`${keys.length} changes to be noticed`, areNoticed, { ...patience, intervalMs: 100 });
  return [...times.values()];
}

/** Watches for `seconds` seconds, and describes line by line: calls of the broker and of the API server, memory, and time of one processor. */
export async function measureRest(
  { cluster, api, pid, served }: Fixture,
  seconds: number,
  instances: number,
): Promise<readonly string[]> {
  const before = { calls: await snapshotCalls(cluster, api), served: await served() };
  const cpuBefore = cpuSecondsOf(pid());
  const began = performance.now();
  const rss: number[] = [];
  while (performance.now() - began < seconds * 1000) {
    await sleep(5_000);
    rss.push(memoryOf(pid()).rss);
  }
  const minutes = (performance.now() - began) / 60_000;
  const cpuPercent = (100 * (cpuSecondsOf(pid()) - cpuBefore)) / (minutes * 60);
  const rate = ((await served()) - before.served) / minutes;
  const { byAgent, byKind } = callsBetween(before.calls, await snapshotCalls(cluster, api));
  const ofKinds = describeCalls(byKind.filter(isOfProvider), minutes);
  return [
    `at rest for ${minutes.toFixed(1)} min:`,
    `  broker calls ${rate.toFixed(0)}/min, ${(rate / instances).toFixed(3)} for each instance`,
    `  API calls of the provider ${(byAgent / minutes).toFixed(1)}/min (all for its kinds: ${ofKinds})`,
    `  RSS ${Math.min(...rss).toFixed(0)} to ${Math.max(...rss).toFixed(0)} MiB, CPU ${cpuPercent.toFixed(1)} %`,
  ];
}

/** Tells whether a call can be the provider's; API servers themselves ask for neither. */
function isOfProvider(call: CallCount): boolean {
  return call.verb !== "WATCH" && (call.resource.startsWith("dataservices.") || isOfSync(call));
}
