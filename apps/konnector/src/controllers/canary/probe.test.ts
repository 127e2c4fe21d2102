import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { firstState, isDue, judge, type ProbeState, sent } from "./probe.ts";

const timing = { canaryMs: 60_000, canaryLateMs: 10_000 };
const open: ProbeState = { open: { number: 7, sentAt: 1_000 }, nextAt: 61_000 };

test("an answer in time is good, a slow one is late, and both have the lag of this clock", () => {
  assert.deepEqual(judge(open, 7, 1_250, timing), {
    state: { nextAt: 61_000 },
    outcome: "answered",
    lagMs: 250,
  });
  assert.equal(judge(open, 7, 11_000, timing).outcome, "answered");
  assert.equal(judge(open, 7, 11_001, timing).outcome, "late");
});

test("a probe without an answer is lost when the next one is due, and its late answer changes nothing", () => {
  assert.deepEqual(judge(open, 6, 60_999, timing), { state: open });
  const lost = judge(open, 6, 61_000, timing);
  assert.deepEqual(lost, { state: { nextAt: 61_000 }, outcome: "lost" });
  assert.ok(isDue(lost.state, 61_000));
  assert.deepEqual(judge(lost.state, 7, 61_001, timing), { state: lost.state });
});

test("a control plane that answered none is no failure, and is asked rarely", () => {
  const verdict = judge(open, undefined, 61_000, timing);
  assert.equal(verdict.outcome, "unsupported");
  assert.ok(!isDue(verdict.state, 660_999) && isDue(verdict.state, 661_000));
  const probe = { number: 7, sentAt: 1_000 };
  assert.equal(sent(probe, "dropped", false, timing).outcome, "unsupported");
  assert.equal(sent(probe, "unreachable", false, timing).outcome, undefined);
  assert.equal(sent(probe, "unreachable", true, timing).outcome, "unreachable");
  assert.equal(sent(probe, "refused", true, timing).outcome, "refused");
});

test("numbers that were never sent move nothing, whatever they are and whenever they come", () => {
  const number = fc.option(
    fc.nat().filter((each) => each !== 7),
    { nil: undefined },
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(number, fc.integer({ min: 1_000, max: 60_999 }))), (lies) => {
      for (const [lie, now] of lies) assert.deepEqual(judge(open, lie, now, timing), { state: open });
      for (const [lie, now] of lies)
        assert.deepEqual(judge({ nextAt: 61_000 }, lie, now, timing), { state: { nextAt: 61_000 } });
    }),
  );
});

test("each probe has one outcome, and lags are never negative", () => {
  const step = fc.record({ afterMs: fc.nat(90_000), answers: fc.boolean(), keeps: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let now = 5;
      let state = firstState(now, 0.5, timing);
      let [probes, judged] = [0, 0];
      let answered = 0;
      for (const { afterMs, answers, keeps } of steps) {
        now += afterMs;
        if (answers && state.open !== undefined) answered = state.open.number;
        const verdict = judge(state, answered, now, timing);
        if (verdict.outcome !== undefined) judged++;
        assert.ok((verdict.lagMs ?? 0) >= 0);
        ({ state } = verdict);
        if (!isDue(state, now)) continue;
        const next = sent({ number: ++probes, sentAt: now }, keeps ? "kept" : "refused", true, timing);
        if (next.outcome !== undefined) judged++;
        ({ state } = next);
      }
      assert.equal(judged, probes - (state.open === undefined ? 0 : 1));
    }),
  );
});
