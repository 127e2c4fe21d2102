import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, VirtualClock } from "@klutch/kube-testing";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

interface Server {
  /** There and back. */
  wayMs: number;
  /** Requests beyond these wait. */
  readonly cores: number;
  /** Mean of one request's work. */
  readonly workMs: number;
}

/** Sends bulk requests to the server for a time, as many at once as the limit says, and gives back the rate and the mean number at once. */
async function drive(
  limit: ConcurrencyLimit,
  clock: VirtualClock,
  server: Server,
  forMs: number,
): Promise<{ readonly perSecond: number; readonly atOnce: number }> {
  const random = seededRandom(7);
  const endsAt = clock.monotonic() + forMs;
  const freeAt = Array.from({ length: server.cores }, () => 0);
  let under = 0;
  let ended = 0;
  let sum = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const send = (): void => {
    while (under < limit.maxConcurrent("low") && clock.monotonic() < endsAt) {
      under++;
      const sentAt = clock.monotonic();
      const arrivedAt = sentAt + server.wayMs / 2;
      const core = freeAt.indexOf(Math.min(...freeAt));
      const doneAt = Math.max(arrivedAt, freeAt[core] ?? 0) + server.workMs * (0.8 + 0.4 * random());
      freeAt[core] = doneAt;
      clock.schedule(doneAt + server.wayMs / 2 - sentAt, () => {
        ended++;
        sum += under;
        limit.observe("apply", clock.monotonic() - sentAt, under);
        under--;
        send();
        if (under === 0) resolve();
      });
    }
  };
  send();
  await clock.run({ untilMs: endsAt + 10_000 });
  await promise;
  return { perSecond: (ended * 1000) / forMs, atOnce: sum / ended };
}

test("a near server with two cores gets no more than keeps it busy", async () => {
  const clock = new VirtualClock();
  const { perSecond, atOnce } = await drive(
    new ConcurrencyLimit(clock),
    clock,
    { wayMs: 1, cores: 2, workMs: 6 },
    20_000,
  );
  assert.ok(atOnce < 8, `${atOnce}`);
  assert.ok(perSecond > 300, `${perSecond} of 333`);
});

test("a server that is far away gets enough to fill the way", async () => {
  const clock = new VirtualClock();
  const { perSecond } = await drive(
    new ConcurrencyLimit(clock),
    clock,
    { wayMs: 100, cores: 2, workMs: 6 },
    20_000,
  );
  // Six at once could not be more than 57.
  assert.ok(perSecond > 180, `${perSecond}`);
});

test("a server with many cores gets more than a small one", async () => {
  const clock = new VirtualClock();
  const { perSecond } = await drive(
    new ConcurrencyLimit(clock),
    clock,
    { wayMs: 2, cores: 16, workMs: 6 },
    20_000,
  );
  assert.ok(perSecond > 1800, `${perSecond} of 2667`);
});

test("when the server becomes near, and so busy, less is sent; when it moves away again, more", async () => {
  const clock = new VirtualClock();
  const limit = new ConcurrencyLimit(clock);
  const server = { wayMs: 100, cores: 2, workMs: 6 };
  const before = await drive(limit, clock, server, 20_000);
  server.wayMs = 1;
  await drive(limit, clock, server, 5_000);
  assert.equal(limit.maxConcurrent("normal"), 8);
  server.wayMs = 100;
  await drive(limit, clock, server, 150_000);
  const after = await drive(limit, clock, server, 20_000);
  assert.ok(after.perSecond > before.perSecond * 0.9, `${after.perSecond} after ${before.perSecond}`);
});

test("nothing grows while there is little to do, and people always have room beyond bulk work", () => {
  const limit = new ConcurrencyLimit(new VirtualClock());
  for (let index = 0; index < 1000; index++) limit.observe("apply", 100, 1);
  assert.deepEqual(
    [limit.maxConcurrent("low"), limit.maxConcurrent("normal"), limit.maxConcurrent("high")],
    [6, 8, 10],
  );
});
