import assert from "node:assert/strict";
import { test } from "node:test";
import { external, present, settled, Fixture } from "../testing/managed-fixture.ts";
import { type ExternalClient, ExternalError, NotYetError, type Observation } from "./external.ts";

const hour = 3_600_000;

test("retries of a failing backend come ever later, at most a minute apart", async () => {
  const times: number[] = [];
  const observe = async (): Promise<Observation> => {
    times.push(fixture.clock.monotonic());
    throw new Error("down");
  };
  const fixture = new Fixture({ reconciler: { connect: async () => external({ observe }) } });
  await using _ = fixture;
  fixture.start();
  await fixture.create();
  await fixture.clock.advance(hour);
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  const [first = 0, second = 0] = waits;
  assert.ok(first >= 500 && first <= 1_000, `${first}`);
  assert.ok(second >= 1_000 && second <= 2_000, `${second}`);
  for (const wait of waits.slice(7)) assert.ok(wait >= 30_000 && wait <= 60_000, `${wait}`);
  assert.ok(waits.length > 60);
});

test("a backend that says when to come again is not asked earlier", async () => {
  const times: number[] = [];
  const observe = async (): Promise<Observation> => {
    times.push(fixture.clock.monotonic());
    throw new ExternalError("busy", { retryAfterMs: 45_000 });
  };
  const fixture = new Fixture({ reconciler: { connect: async () => external({ observe }) } });
  await using _ = fixture;
  await settled(fixture);
  assert.ok(times.length >= 4);
  for (const [index, time] of times.slice(1).entries()) assert.ok(time - (times[index] ?? 0) >= 45_000);
});

test("an operation that is not possible yet is reported and tried again at even intervals", async () => {
  const times: number[] = [];
  const connect = async (): Promise<ExternalClient> => {
    times.push(fixture.clock.monotonic());
    throw new NotYetError("the instance is not ready", { requeueAfterMs: 20_000 });
  };
  const fixture = new Fixture({ reconciler: { connect } });
  await using _ = fixture;
  await settled(fixture);
  const [start = 0] = times;
  assert.deepEqual(
    times.slice(0, 5).map((time) => time - start),
    [0, 20_000, 40_000, 60_000, 80_000],
  );
  const message = "connect failed: the instance is not ready";
  assert.equal(await fixture.condition("Synced"), `False ReconcileError ${message}`);
});

test("a backend that never answers is given up after the deadline, and the condition says so", async () => {
  let calls = 0;
  const observe: ExternalClient["observe"] = ({ signal }) => {
    calls++;
    const { promise, reject } = Promise.withResolvers<Observation>();
    signal.addEventListener("abort", () => reject(new Error("the request was aborted")));
    return promise;
  };
  await using fixture = new Fixture({
    reconciler: { connect: async () => external({ observe }), deadlineMs: 30_000 },
  });
  fixture.start();
  await fixture.create();
  await fixture.clock.advance(29_999);
  assert.equal(await fixture.condition("Synced"), undefined);
  await fixture.clock.advance(2);
  assert.equal(
    await fixture.condition("Synced"),
    "False ReconcileError observe failed: the backend did not answer within 30000 ms",
  );
  await fixture.clock.advance(5_000);
  assert.equal(calls, 2);
});

test("a resource that does not change is observed once in a poll interval and up to a fifth", async () => {
  const times: number[] = [];
  const observe = async (): Promise<Observation> => {
    times.push(fixture.clock.monotonic());
    return present;
  };
  const fixture = new Fixture({
    reconciler: { connect: async () => external({ observe }), pollIntervalMs: 10_000 },
  });
  await using _ = fixture;
  await settled(fixture);
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  assert.ok(waits.length >= 25);
  for (const wait of waits) assert.ok(wait >= 10_000 && wait <= 12_000, `${wait}`);
  assert.ok(new Set(waits).size > 20, "the waits differ");
});

test("an observation may ask for its own time", async () => {
  let observations = 0;
  const observe = async (): Promise<Observation> => {
    observations++;
    return { ...present, pollAfterMs: 7_000 };
  };
  await using fixture = new Fixture({ reconciler: { connect: async () => external({ observe }) } });
  fixture.start();
  await fixture.create();
  await fixture.clock.advance(70_000);
  assert.equal(observations, 11);
});
