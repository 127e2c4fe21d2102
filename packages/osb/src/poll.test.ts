import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OsbError, OsbTransportError } from "./errors.ts";
import { nextPoll, type PollAnswer, type PollEnd, pollOperation, type PollOptions } from "./poll.ts";
import type { LastOperation } from "./types.ts";

const running: LastOperation = { state: "in progress", description: "" };
const succeeded: LastOperation = { state: "succeeded", description: "ready" };
const answerOf = (status: number, own = true, retryAfterMs?: number): OsbError =>
  new OsbError({ status, error: "", description: "", own, action: "GET x", retryAfterMs });

/** A broker that gives these answers, the last one for ever, in virtual time; each takes `tookMs`. */
async function poll(
  answers: readonly (LastOperation | Error)[],
  options: Partial<PollOptions> & { readonly tookMs?: number; readonly signal?: AbortSignal } = {},
): Promise<{ readonly end: PollEnd; readonly askedAt: readonly number[] }> {
  let time = 1_000;
  const askedAt: number[] = [];
  const lastOperation = (): Promise<LastOperation> => {
    const answer = answers[Math.min(askedAt.length, answers.length - 1)] ?? running;
    askedAt.push(time - 1_000);
    time += options.tookMs ?? 0;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const sleep = (ms: number): Promise<void> => {
    time += ms;
    return Promise.resolve();
  };
  const end = await pollOperation(
    { lastOperation },
    { instanceId: "i" },
    { deletes: false, clock: { now: () => time, sleep }, ...options },
  );
  return { end, askedAt };
}

test("an operation is asked for until it ends, at the broker's pace", async () => {
  const { end, askedAt } = await poll([running, { ...running, retryAfterMs: 10_000 }, running, succeeded]);
  assert.deepEqual(end, { kind: "succeeded", description: "ready" });
  assert.deepEqual(askedAt, [0, 2_000, 12_000, 14_000]);
});

test("what a failed update says of the instance is handed on", async () => {
  const failed = {
    state: "failed",
    description: "no",
    instanceUsable: true,
    updateRepeatable: false,
  } as const;
  const { end } = await poll([failed]);
  assert.deepEqual(end, {
    kind: "failed",
    description: "no",
    timedOut: false,
    instanceUsable: true,
    updateRepeatable: false,
  });
});

test("the longest time of the plan ends the polling, whatever the broker says", async () => {
  const slow = { ...running, retryAfterMs: 3_600_000 };
  const { end, askedAt } = await poll([slow], { maximumPollingSeconds: 600 });
  assert.deepEqual(end, { kind: "failed", description: "it did not end within 600 s", timedOut: true });
  assert.deepEqual(askedAt, [0, 600_000]);
});

test("a plan cannot make a platform poll longer than it wants", async () => {
  const { end } = await poll([running], {
    maximumPollingSeconds: 1e15,
    longestMs: 60_000,
    intervalMs: 20_000,
  });
  assert.equal(end.kind === "failed" && end.description, "it did not end within 60 s");
});

test("errors are no end: pauses grow to a minute, and the next good answer counts", async () => {
  const errors = Array.from({ length: 8 }, () => new OsbTransportError("Timeout", "x"));
  const { end, askedAt } = await poll([...errors, running, succeeded]);
  assert.equal(end.kind, "succeeded");
  const pauses = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
  assert.deepEqual(pauses, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 2_000]);
});

test("410 is an end only for what deletes, and only in the broker's own words", async () => {
  assert.deepEqual((await poll([answerOf(410)], { deletes: true })).end, { kind: "gone" });
  const limit = { longestMs: 10_000 };
  assert.equal((await poll([answerOf(410)], limit)).end.kind, "failed");
  assert.equal((await poll([answerOf(410, false)], { ...limit, deletes: true })).end.kind, "failed");
});

test("what cannot be asked at all is thrown", async () => {
  await assert.rejects(poll([new OsbTransportError("NotSent", "x")]), { code: "NotSent" });
  await assert.rejects(poll([new TypeError("a bug")]), TypeError);
});

test("the caller's abort ends the waiting with the caller's reason", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  const polling = pollOperation(
    { lastOperation: () => Promise.resolve(running) },
    { instanceId: "i" },
    { deletes: false, signal: abort.signal },
  );
  setImmediate(() => abort.abort(reason));
  await assert.rejects(polling, reason);
});

test("whatever is observed, the next step ends or waits a positive time that does not pass the end", () => {
  const answer: fc.Arbitrary<PollAnswer> = fc.oneof(
    fc.record({
      last: fc.record({
        state: fc.constantFrom("in progress" as const, "succeeded" as const, "failed" as const),
        description: fc.string(),
        retryAfterMs: fc.option(fc.integer({ min: 1, max: 3_600_000 }), { nil: undefined }),
      }),
    }),
    fc.record({
      error: fc.oneof(
        fc
          .tuple(fc.integer({ min: 300, max: 599 }), fc.boolean())
          .map(([status, own]) => answerOf(status, own)),
        fc.anything(),
      ),
    }),
  );
  const time = fc.integer({ min: 0, max: 1e9 });
  fc.assert(
    fc.property(
      answer,
      fc.boolean(),
      time,
      time,
      fc.nat(),
      (given, deletes, elapsedMs, maximumMs, errors) => {
        const step = nextPoll({ answer: given, deletes, elapsedMs, maximumMs, intervalMs: 2_000, errors });
        if (step.kind !== "wait") return;
        assert.ok(step.ms > 0 && elapsedMs + step.ms <= maximumMs, JSON.stringify(step));
      },
    ),
  );
});
