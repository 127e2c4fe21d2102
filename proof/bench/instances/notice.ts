/** Measures the time from a change until the other side has it. */
import { serviceInstances } from "@klutch/api";
import { conditionsOf, type DynamicObject, isTrue } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import type { Fixture } from "./fixture.ts";

/** An instance that is changed. */
export interface Probe {
  readonly name: string;
  readonly id: string;
}

const patience = { timeoutMs: 180_000, intervalMs: 5 };

/** Milliseconds from a change of the object until the broker has begun to change the instance; one after the other. */
export async function noticeObjects(
  fixture: Fixture,
  instances: readonly Probe[],
): Promise<readonly number[]> {
  const times: number[] = [];
  for (const { name, id } of instances) {
    const began = performance.now();
    const parameters = { max_connections: 15 };
    await fixture.api.patch(serviceInstances, { name }, { spec: { forProvider: { parameters } } });
    const text = "select 1 from public.instances where id = $1 and parameters ->> 'max_connections' = '15'";
    const hasBegun = async (): Promise<boolean> => (await fixture.store.query(text, [id])).rowCount === 1;
    await waitFor(`the broker to have the change of ${name}`, hasBegun, patience);
    times.push(performance.now() - began);
  }
  return times;
}

/** Milliseconds until an instance that was changed at the broker is changed back; all at the same time. */
export async function noticePlans(fixture: Fixture, instances: readonly Probe[]): Promise<readonly number[]> {
  const other = fixture.plans.get("postgresql-single-small");
  const ids = instances.map(({ id }) => id);
  const began = performance.now();
  await fixture.store.query("update public.instances set plan_id = $2 where id = any ($1)", [ids, other]);
  return whenEach(ids, began, async (waiting) => {
    const text = "select id from public.instances where id = any ($1) and plan_id <> $2";
    const { rows } = await fixture.store.query<{ id: string }>(text, [waiting, other]);
    return rows.map(({ id }) => id);
  });
}

/** Milliseconds until an instance that the broker lost is shown as not ready; all at the same time. */
export async function noticeLosses(
  fixture: Fixture,
  instances: readonly Probe[],
): Promise<readonly number[]> {
  const began = performance.now();
  const ids = instances.map(({ id }) => id);
  await fixture.store.query("delete from public.instances where id = any ($1)", [ids]);
  const names = instances.map(({ name }) => name);
  return whenEach(names, began, async (waiting) => {
    const objects = await Promise.all(waiting.map((name) => fixture.api.get(serviceInstances, { name })));
    return objects.filter((object) => !isReady(object)).map(({ metadata }) => metadata.name ?? "");
  });
}

/** Tells whether an instance's condition Ready is True. */
export function isReady(object: DynamicObject): boolean {
  return isTrue(conditionsOf(object), "Ready");
}

/** Returns the milliseconds from `began` until `ended` first named each key. */
async function whenEach(
  keys: readonly string[],
  began: number,
  ended: (waiting: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly number[]> {
  const times = new Map<string, number>();
  const areNoticed = async (): Promise<boolean> => {
    const waiting = keys.filter((key) => !times.has(key));
    for (const key of await ended(waiting)) times.set(key, performance.now() - began);
    return times.size === keys.length;
  };
  await waitFor(`${keys.length} changes to be noticed`, areNoticed, { ...patience, intervalMs: 100 });
  return [...times.values()];
}
