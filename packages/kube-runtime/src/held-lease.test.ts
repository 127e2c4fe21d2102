/** Tests processes that wait for a lease. A fake client stands in where no real API server reports something untrue. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WatchEvent } from "@klutch/kube";
import { type DynamicObject, type KubeObject, type Lease, leases } from "@klutch/kube-core";
import { fakeClient, VirtualClock } from "@klutch/kube-testing";
import { whileHeld } from "./held-lease.ts";
import { LeaderElector } from "./leader-elector.ts";
import { place, Process, Fixture } from "./testing/lease-fixture.ts";

function lease(holderIdentity: string, name = "agent"): DynamicObject & Lease {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "default", name, resourceVersion: "7" },
    spec: { holderIdentity, leaseDurationSeconds: 15 },
  };
}

/** The first one leads, the second one waits. */
async function leaderAndWaiting(): Promise<Readonly<{ fixture: Fixture; first: Process; second: Process }>> {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  return { fixture, first, second: new Process(fixture, "second") };
}

async function* events(
  ...all: readonly WatchEvent<DynamicObject>[]
): AsyncIterable<WatchEvent<DynamicObject>> {
  yield* all;
}

test("a server that says again and again that a held lease is free is asked once in a retry period", async () => {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const client = fakeClient({
    find: async () => {
      asked.push("get");
      return lease("first");
    },
    watch: () => {
      asked.push("watch");
      return events({ type: "MODIFIED", object: lease("") });
    },
  });
  const elector = new LeaderElector({
    client,
    clock,
    namespace: "default",
    name: "agent",
    identity: "second",
  });
  const stop = new AbortController();
  const running = elector.run({ signal: stop.signal });
  await clock.advance(10_000);
  assert.ok(asked.length <= 18, asked.join(" "));
  assert.equal(elector.isLeader(), false);
  stop.abort(new Error("stopping"));
  await clock.resolve(running);
});

test("events of other leases are no one's business here", async () => {
  const end = await whileHeld({
    client: fakeClient({ watch: () => events({ type: "DELETED", object: lease("", "other") }) }),
    clock: new VirtualClock(),
    lease: lease("first"),
    silentMs: () => 15_000,
    onRenewal: () => assert.fail("it was not renewed"),
    signal: new AbortController().signal,
  });
  assert.equal(end, "ended");
});

test("who waits for an hour asks nothing while the lease is renewed", async () => {
  const { fixture, first, second } = await leaderAndWaiting();
  await fixture.clock.advance(3_600_000);
  assert.equal(first.elector.isLeader(), true);
  const sent = [...second.sent.values()].reduce((sum, count) => sum + count, 0);
  assert.ok(sent < 60, `${JSON.stringify([...second.sent])}`);
});

test("who may not watch the lease looks at it, and leads within a retry period", async () => {
  const { fixture, first, second } = await leaderAndWaiting();
  second.faultOf.set("watch", { kind: "error", status: 403 });
  await fixture.clock.advance(20_000);
  assert.equal(second.sent.get("watch"), 1);
  await first.stop();
  await fixture.clock.advance(2_010);
  assert.equal(second.elector.isLeader(), true);
});

test("who gets the right to watch the lease later uses it, without a restart", async () => {
  const { fixture, first, second } = await leaderAndWaiting();
  second.faultOf.set("watch", { kind: "error", status: 403 });
  await fixture.clock.advance(20_000);
  second.faultOf.clear();
  await fixture.clock.advance(660_000);
  await first.stop();
  await fixture.clock.advance(10);
  assert.equal(second.elector.isLeader(), true);
});

for (const fault of [
  { kind: "error", status: 410 },
  { kind: "error", status: 500 },
  { kind: "lost-answer" },
] as const) {
  test(`a watch of the lease that fails (${JSON.stringify(fault)}) delays a handover by a retry period at most`, async () => {
    const { fixture, first, second } = await leaderAndWaiting();
    second.faultOf.set("watch", fault);
    await fixture.clock.advance(20_000);
    // One look and one try in two seconds.
    const sent = [...second.sent.values()].reduce((sum, count) => sum + count, 0);
    assert.ok(sent <= 22, JSON.stringify([...second.sent]));
    await first.stop();
    await fixture.clock.advance(2_010);
    assert.equal(second.elector.isLeader(), true);
  });
}

test("a holder that writes without end costs those who wait no request", async () => {
  const { fixture, first, second } = await leaderAndWaiting();
  for (let times = 0; times < 1_000; times++) {
    await fixture.edit({ metadata: { labels: { times: String(times) } } });
    await fixture.clock.advance(20);
  }
  assert.deepEqual(
    [...second.sent],
    [
      ["get", 1],
      ["watch", 1],
    ],
  );
  assert.equal(first.elector.isLeader(), true);
  assert.equal(second.elector.isLeader(), false);
});

for (const leaseDurationSeconds of [0, 1, 2_147_483_647]) {
  test(`a stranger's lease of ${leaseDurationSeconds} s keeps no one busy, and is taken only when it has ended`, async () => {
    const fixture = new Fixture();
    const stranger = { holderIdentity: "stranger", leaseDurationSeconds };
    await fixture.admin.create<KubeObject>(leases, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: place,
      spec: stranger,
    });
    const second = new Process(fixture, "second");
    await fixture.clock.advance(20_000);
    const sent = [...second.sent.values()].reduce((sum, count) => sum + count, 0);
    assert.ok(sent <= 20, JSON.stringify([...second.sent]));
    assert.equal(second.elector.isLeader(), leaseDurationSeconds < 20);
  });
}

test("a lease that is deleted is no one else's before its holder must have noticed", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  const term = await first.elector.whenLeading();
  const second = new Process(fixture, "second");
  for (const pauseMs of [4_000, 7_000, 11_000]) {
    await fixture.clock.advance(pauseMs);
    await fixture.admin.delete(leases, place);
    await fixture.clock.advance(6_000);
    assert.equal(second.elector.isLeader(), false);
    assert.equal((await fixture.lease())?.["holderIdentity"], "first");
  }
  assert.equal(term.aborted, false);
  first.crash();
  await fixture.admin.delete(leases, place);
  const since = fixture.clock.monotonic();
  await fixture.clock.run({ untilMs: since + 60_000, until: () => second.elector.isLeader() });
  const waited = fixture.clock.monotonic() - since;
  assert.ok(waited >= 5_000 && waited <= 17_100, `${waited}`);
});

test("a watch that says nothing is not trusted again for a while", async () => {
  const { fixture, first, second } = await leaderAndWaiting();
  second.deliver = "stall";
  await fixture.clock.advance(60_000);
  assert.equal(second.sent.get("watch"), 1);
  await first.stop();
  await fixture.clock.advance(2_010);
  assert.equal(second.elector.isLeader(), true);
});

test("a watch that says nothing costs no more than a crash of the leader", async () => {
  const { fixture, first, second } = await leaderAndWaiting();
  second.deliver = "stall";
  await fixture.clock.advance(5_000);
  await first.stop();
  const since = fixture.clock.monotonic();
  await fixture.clock.run({ untilMs: since + 60_000, until: () => second.elector.isLeader() });
  assert.ok(fixture.clock.monotonic() - since <= 17_100, `${fixture.clock.monotonic() - since}`);
});
