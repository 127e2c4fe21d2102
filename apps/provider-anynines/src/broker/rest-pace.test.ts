import assert from "node:assert/strict";
import { test } from "node:test";
import { RestPace } from "./rest-pace.ts";

/** A pace of a minute, and its time. */
function paceOfAMinute(): { readonly pace: RestPace; readonly pass: (ms: number) => void } {
  let time = 0;
  const pace = new RestPace({ clock: { monotonic: () => time }, intervalMs: 60_000 });
  return { pace, pass: (ms) => (time += ms) };
}

test("what was asked for is due again after the interval, and at once when something changed", () => {
  const { pace, pass } = paceOfAMinute();
  assert.ok(pace.isDue("a"));
  pace.asked("a");
  assert.ok(!pace.isDue("a"));
  assert.ok(pace.isDue("b"));
  pass(59_999);
  assert.ok(!pace.isDue("a"));
  pass(1);
  assert.ok(pace.isDue("a"));
  pace.asked("a");
  pace.forget("a");
  assert.ok(pace.isDue("a"));
});

test("what no one asks for any more is forgotten", () => {
  const { pace, pass } = paceOfAMinute();
  for (let index = 0; index < 1_000; index++) pace.asked(`gone-${index}`);
  pass(60_000);
  pace.asked("still there");
  assert.equal(pace.size, 1);
});
