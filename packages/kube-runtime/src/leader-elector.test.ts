import assert from "node:assert/strict";
import { test } from "node:test";
import { FencedError } from "@klutch/kube";
import { leases } from "@klutch/kube-core";
import { seededFaults, seededRandom } from "@klutch/kube-testing";
import { leading } from "./leader-elector.ts";
import { place, Process, Fixture } from "./testing/lease-fixture.ts";

test("the first process leads at once, the second only waits while the lease is renewed", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  assert.equal(first.elector.isLeader(), true);
  const second = new Process(fixture, "second");
  await fixture.clock.advance(3_600_000);
  assert.equal(first.elector.isLeader(), true);
  assert.equal(second.elector.isLeader(), false);
  assert.throws(() => second.elector.assertMayWrite(), FencedError);
  assert.equal(second.elector.signal.aborted, true);
  const { holderIdentity, leaseTransitions, leaseDurationSeconds } = (await fixture.lease()) ?? {};
  assert.deepEqual([holderIdentity, leaseTransitions, leaseDurationSeconds], ["first", 0, 15]);
});

test("a crashed leader's lease is taken when it has not changed for its duration, and not earlier", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(20_010);
  first.crash();
  const crashedAt = fixture.clock.monotonic();
  const second = new Process(fixture, "second");
  // It may have been renewed up to five seconds before, but who just came cannot know.
  await fixture.clock.run({ untilMs: crashedAt + 60_000, until: () => second.elector.isLeader() });
  const waited = fixture.clock.monotonic() - crashedAt;
  assert.ok(waited >= 15_000 && waited <= 17_100, `${waited}`);
  assert.equal((await fixture.lease())?.["leaseTransitions"], 1);
});

test("a wall clock that is wrong by a day neither takes a lease early nor loses one", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  fixture.clock.skew(86_400_000);
  const second = new Process(fixture, "second");
  await fixture.clock.advance(60_000);
  assert.equal(first.elector.isLeader(), true);
  fixture.clock.skew(-2 * 86_400_000);
  await fixture.clock.advance(60_000);
  assert.equal(first.elector.isLeader(), true);
  assert.equal(second.elector.isLeader(), false);
});

test("a leader that stops gives the lease back, and the next one leads at once", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  const term = await first.elector.whenLeading();
  const second = new Process(fixture, "second");
  await fixture.clock.advance(500);
  await first.stop();
  assert.ok(term.reason instanceof FencedError);
  assert.equal((await fixture.lease())?.["holderIdentity"], "");
  await fixture.clock.advance(10);
  assert.equal(second.elector.isLeader(), true);
});

test("a lease that cannot be given back is a warning and expires by itself", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  first.fault = { kind: "error", status: 500 };
  await first.stop();
  assert.match(first.lines.at(-1)?.message ?? "", /could not be given back/);
  assert.equal((await fixture.lease())?.["holderIdentity"], "first");
});

test("who no longer holds the lease does not give it back when it stops", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  await fixture.edit({ spec: { holderIdentity: "thief" } });
  await first.stop();
  assert.equal((await fixture.lease())?.["holderIdentity"], "thief");
});

test("a process that comes back under its own name goes on at once", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "pod-0");
  await fixture.clock.advance(10);
  first.crash();
  const again = new Process(fixture, "pod-0");
  await fixture.clock.advance(10);
  assert.equal(again.elector.isLeader(), true);
  assert.equal((await fixture.lease())?.["leaseTransitions"], 0);
});

test("a lease that is taken away by hand ends the term at the next renewal; it is taken back when it expires", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  const term = await first.elector.whenLeading();
  await fixture.edit({ spec: { holderIdentity: "thief" } });
  await fixture.clock.advance(5_010);
  assert.equal(term.aborted, true);
  assert.throws(() => first.elector.assertMayWrite(), FencedError);
  await fixture.clock.advance(20_000);
  assert.equal(first.elector.isLeader(), true);
  const next = await first.elector.whenLeading();
  assert.notEqual(next, term);
});

for (const [what, disturb] of [
  [
    "is edited by somebody who leaves the holder",
    (fixture: Fixture) => fixture.edit({ metadata: { labels: { a: "b" } } }),
  ],
  ["is deleted", async (fixture: Fixture) => void (await fixture.admin.delete(leases, place))],
] as const) {
  test(`a lease that ${what} stays with its leader, in the same term`, async () => {
    const fixture = new Fixture();
    const first = new Process(fixture, "first");
    await fixture.clock.advance(10);
    const term = await first.elector.whenLeading();
    for (let times = 0; times < 3; times++) {
      await disturb(fixture);
      await fixture.clock.advance(8_000);
    }
    assert.equal(term.aborted, false);
    assert.equal(first.elector.isLeader(), true);
    assert.equal((await fixture.lease())?.["holderIdentity"], "first");
  });
}

test("renewals whose answers are lost do not cost the lease", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  const term = await first.elector.whenLeading();
  for (let times = 0; times < 10; times++) {
    first.fault = { kind: "lost-answer" };
    await fixture.clock.advance(5_500);
    first.fault = undefined;
    await fixture.clock.advance(2_000);
  }
  assert.equal(term.aborted, false);
});

test("a leader that no one answers may not write after the renew deadline, and its term ends before the lease does", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  const term = await first.elector.whenLeading();
  const since = fixture.clock.monotonic();
  first.fault = { kind: "partition" };
  await fixture.clock.run({ untilMs: since + 60_000, until: () => !first.elector.isLeader() });
  assert.ok(fixture.clock.monotonic() - since <= 10_000 + 3_000);
  assert.throws(() => first.elector.assertMayWrite(), FencedError);
  await fixture.clock.run({ untilMs: since + 60_000, until: () => term.aborted });
  assert.ok(fixture.clock.monotonic() - since < 15_000, `${fixture.clock.monotonic() - since}`);
  first.fault = undefined;
  await fixture.clock.advance(5_000);
  assert.equal(first.elector.isLeader(), true);
});

test("the deadline counts from the sending of a renewal, however late its answer came", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  first.latencyMs = 700;
  await fixture.clock.advance(60_000);
  const term = await first.elector.whenLeading();
  const { renewTime } = (await fixture.lease()) ?? {};
  first.fault = { kind: "partition" };
  await fixture.clock.advance(Date.parse(String(renewTime)) + 10_000 - fixture.clock.now());
  assert.equal(term.aborted || !first.elector.isLeader(), true);
});

test("a renewal keeps the time of acquisition, and a new holder sets it", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  await fixture.clock.advance(10);
  const { acquireTime } = (await fixture.lease()) ?? {};
  assert.match(String(acquireTime), /^2026-01-01T00:00:00\.\d{6}Z$/);
  await fixture.clock.advance(60_000);
  assert.equal((await fixture.lease())?.["acquireTime"], acquireTime);
  assert.notEqual((await fixture.lease())?.["renewTime"], acquireTime);
  await first.stop();
  new Process(fixture, "second");
  await fixture.clock.advance(10);
  assert.notEqual((await fixture.lease())?.["acquireTime"], acquireTime);
});

test("a caller that waits for a term gets it, or nothing when it gives up the wait", async () => {
  const fixture = new Fixture();
  const first = new Process(fixture, "first");
  const stop = new AbortController();
  const term = await fixture.clock.resolve(leading(first.elector, stop.signal));
  assert.equal(term?.aborted, false);
  const second = new Process(fixture, "second");
  const waiting = leading(second.elector, stop.signal);
  await fixture.clock.advance(10_000);
  stop.abort(new Error("stopping"));
  assert.equal(await fixture.clock.resolve(waiting), undefined);
  assert.equal(await leading(second.elector, stop.signal), undefined);
});

for (let seed = 1; seed <= 20; seed++) {
  test(`of three processes on bad networks at most one may write, and in the end one does (seed ${seed})`, async () => {
    const fixture = new Fixture();
    const random = seededRandom(seed);
    const names = ["a", "b", "c"];
    const rates = { error: 0.1, lostAnswer: 0.1, lostRequest: 0.1, partition: 0.05, latencyMs: 200 };
    const networks = names.map((_, index) => seededFaults(seed * 10 + index, rates));
    const processes = names.map((name, index) => new Process(fixture, name, networks[index]));
    const leaders = (): number => processes.filter(({ elector }) => elector.isLeader()).length;
    let terms = 0;
    let most = 0;
    const watch = (): boolean => {
      most = Math.max(most, leaders());
      return false;
    };
    for (let minutes = 0; minutes < 30; minutes++) {
      const index = Math.floor(random() * names.length);
      networks[index]?.partition(names[index] ?? "", random() < 0.5);
      await fixture.clock.run({ untilMs: fixture.clock.monotonic() + 60_000, until: watch });
      terms += leaders();
    }
    assert.equal(most, 1);
    assert.ok(terms > 0, "no one ever led");
    for (const network of networks) network.stop();
    await fixture.clock.advance(30_000);
    assert.equal(leaders(), 1);
  });
}
