/** How soon a change is noticed, from the change until the other side has it. */
import { setTimeout as sleep } from "node:timers/promises";
import { serviceInstances } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition } from "@klutch/kube-core";
import type { World } from "./world.ts";

const pollEveryMs = 5;
const timeoutMs = 180_000;

/** Milliseconds from a change of the object until the broker has begun to change the instance; one after the other. */
export async function noticeObjects(
  world: World,
  instances: readonly { readonly name: string; readonly id: string }[],
): Promise<readonly number[]> {
  const times: number[] = [];
  for (const { name, id } of instances) {
    const began = performance.now();
    const parameters = { max_connections: 15 };
    await world.api.patch(serviceInstances, { name }, { spec: { forProvider: { parameters } } });
    await until(async () => {
      const text = "select 1 from public.instances where id = $1 and parameters ->> 'max_connections' = '15'";
      return (await world.store.query(text, [id])).rowCount === 1;
    }, `the broker to have the change of ${name}`);
    times.push(performance.now() - began);
  }
  return times;
}

/** Milliseconds until an instance that was changed at the broker is changed back; all at the same time. */
export async function noticePlans(world: World, ids: readonly string[]): Promise<readonly number[]> {
  const other = world.plans.get("postgresql-single-small");
  const began = performance.now();
  await world.store.query("update public.instances set plan_id = $2 where id = any ($1)", [ids, other]);
  return whenEach(ids, began, async (waiting) => {
    const text = "select id from public.instances where id = any ($1) and plan_id <> $2";
    const { rows } = await world.store.query<{ id: string }>(text, [waiting, other]);
    return rows.map(({ id }) => id);
  });
}

/** Milliseconds until an instance that the broker lost is said not to be ready; all at the same time. */
export async function noticeLosses(
  world: World,
  instances: readonly { readonly name: string; readonly id: string }[],
): Promise<readonly number[]> {
  const began = performance.now();
  const ids = instances.map(({ id }) => id);
  await world.store.query("delete from public.instances where id = any ($1)", [ids]);
  const names = instances.map(({ name }) => name);
  return whenEach(names, began, async (waiting) => {
    const answers = await Promise.all(
      waiting.map(async (name) => ({ name, object: await world.api.get(serviceInstances, { name }) })),
    );
    return answers.filter(({ object }) => !isReady(object)).map(({ name }) => name);
  });
}

export function isReady(object: DynamicObject): boolean {
  return findCondition(conditionsOf(object), "Ready")?.status === "True";
}

/** When `ended` first named each key. */
async function whenEach(
  keys: readonly string[],
  began: number,
  ended: (waiting: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly number[]> {
  const times = new Map<string, number>();
  await until(async () => {
    const waiting = keys.filter((key) => !times.has(key));
    for (const key of await ended(waiting)) times.set(key, performance.now() - began);
    if (times.size < keys.length) await sleep(100);
    return times.size === keys.length;
  }, `${keys.length} changes to be noticed`);
  return [...times.values()];
}

async function until(isDone: () => Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await isDone())) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
    await sleep(pollEveryMs);
  }
}
