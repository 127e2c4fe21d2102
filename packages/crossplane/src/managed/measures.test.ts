/** Crossplane's metrics of managed resources: counts from the cache, and times of a whole life. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Informer } from "@klutch/kube-runtime";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { createMetrics } from "@klutch/telemetry";
import { crateType, Fixture, settled } from "../testing/managed-fixture.ts";
import type { Managed } from "./external.ts";
import { createManagedStates, gvkOf, ManagedTimes } from "./measures.ts";

const prefix = "crossplane_managed_resource";
const crates = 'gvk="example.org/v1, Kind=Crate"';
const listeners = { ...crateType, plural: "listeners", kind: "Listener" };

/** Returns the sample's value in a scrape; undefined when it is not shown. */
function valueIn(text: string, name: string, labels: string = crates): number | undefined {
  const line = text.split("\n").find((each) => each.startsWith(`${prefix}_${name}{${labels}} `));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ")));
}

test("the first reconcile, readiness, drift and deletion of a resource are measured once each", async () => {
  const metrics = createMetrics();
  await using fixture = new Fixture({ takesMs: 40_000, reconciler: { metrics } });
  await settled(fixture);
  const ready = await metrics.text();
  assert.equal(valueIn(ready, "first_time_to_reconcile_seconds_count"), 1);
  assert.equal(valueIn(ready, "first_time_to_readiness_seconds_count"), 1);
  assert.equal(valueIn(ready, "first_time_to_readiness_seconds_bucket", `le="30",${crates}`), 0);
  assert.equal(valueIn(ready, "first_time_to_readiness_seconds_bucket", `le="60",${crates}`), 1);
  assert.equal(valueIn(ready, "drift_seconds_count"), 0);
  await fixture.patch({ spec: { size: 2 } });
  await fixture.clock.advance(300_000);
  assert.equal(valueIn(await metrics.text(), "drift_seconds_count"), 1);
  await fixture.delete();
  await fixture.clock.advance(300_000);
  const gone = await metrics.text();
  assert.equal(valueIn(gone, "deletion_seconds_count"), 1);
  assert.equal(valueIn(gone, "deletion_seconds_bucket", `le="30",${crates}`), 0);
  assert.equal(valueIn(gone, "deletion_seconds_bucket", `le="60",${crates}`), 1);
  assert.equal(valueIn(gone, "first_time_to_reconcile_seconds_count"), 1);
  assert.equal(valueIn(gone, "first_time_to_readiness_seconds_count"), 1);
});

test("resources of one name in two namespaces are told apart, and a time that lies is not negative", async () => {
  const metrics = createMetrics();
  const clock = new VirtualClock();
  const times = new ManagedTimes(metrics, clock, {
    type: crateType,
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  });
  const created = (namespace: string, creationTimestamp: string): Managed => ({
    apiVersion: "example.org/v1",
    kind: "Crate",
    metadata: { namespace, name: "box", uid: namespace, creationTimestamp },
    spec: {},
  });
  const hoursAhead = created("one", new Date(clock.now() + 7_200_000).toISOString());
  const unreadable = created("two", "yesterday");
  const right = created("three", new Date(clock.now()).toISOString());
  for (const each of [hoursAhead, unreadable, right, right]) times.begins(each);
  await clock.advance(20_000);
  for (const each of [hoursAhead, unreadable, right]) times.succeeds(each, true);
  const text = await metrics.text();
  assert.equal(valueIn(text, "first_time_to_reconcile_seconds_count"), 2);
  assert.equal(valueIn(text, "first_time_to_readiness_seconds_count"), 2);
  assert.equal(valueIn(text, "first_time_to_readiness_seconds_sum"), 20);
});

test("existing, ready and synced resources are counted from the cache at each scrape, and a kind that goes has 0", async () => {
  const metrics = createMetrics();
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  const client = server.client({ clusterName: "provider" });
  for (const type of [crateType, listeners]) server.register({ type, statusSubresource: true });
  const add = async (type: typeof crateType, name: string, states: Readonly<Record<string, string>>) => {
    const apiVersion = "example.org/v1";
    await client.create(type, { apiVersion, kind: type.kind, metadata: { name }, spec: { size: 1 } });
    const conditions = Object.entries(states).map(([condition, status]) => ({
      type: condition,
      status,
      reason: "Test",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    }));
    await client.mergePatch(type, { name }, { status: { conditions } }, { subresource: "status" });
  };
  await add(crateType, "ready", { Ready: "True", Synced: "True" });
  await add(crateType, "paused", { Ready: "True", Synced: "False" });
  await add(crateType, "lost", { Ready: "Unknown" });
  await add(listeners, "one", { Synced: "True" });
  const informers = [crateType, listeners].map((type) => new Informer<Managed>({ client, type, clock }));
  for (const informer of informers) informer.start();
  await clock.advance(1_000);
  const states = createManagedStates(metrics, informers);
  const stop = new AbortController();
  const running = states.start({ signal: stop.signal });
  const shown = async (): Promise<unknown> => {
    const text = await metrics.text();
    const of = (labels: string) => ["exists", "ready", "synced"].map((name) => valueIn(text, name, labels));
    return [of(crates), of(`gvk="${gvkOf(listeners)}"`)];
  };
  assert.equal(gvkOf(listeners), "example.org/v1, Kind=Listener");
  assert.deepEqual(await shown(), [
    [3, 2, 1],
    [1, 0, 1],
  ]);
  for (const name of ["ready", "paused", "lost"]) await client.delete(crateType, { name });
  await clock.advance(1_000);
  assert.deepEqual(await shown(), [
    [0, 0, 0],
    [1, 0, 1],
  ]);
  stop.abort(new Error("the lease is lost"));
  await running;
  assert.deepEqual(
    await shown(),
    [
      [undefined, undefined, undefined],
      [undefined, undefined, undefined],
    ],
    "a process without the lease counts nothing",
  );
  for (const informer of informers) await informer[Symbol.asyncDispose]();
});
