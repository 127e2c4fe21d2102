import assert from "node:assert/strict";
import { test } from "node:test";
import { createDecision, mostFollowedEachSecond } from "./sampler.ts";
import type { SpanIdentity } from "./traceparent.ts";

const cause = (isSampled: boolean): SpanIdentity => ({
  traceID: "0af7651916cd43dd8448eb211c80319c",
  spanID: "b7ad6b7169203331",
  isSampled,
});

test("a flood of forged causes gets no more recorded than the bound, and the bound fills again", () => {
  let now = 0;
  const choice = { ratio: 0.01, followsParent: true };
  const decide = createDecision({ choice, nowMs: () => now, random: () => 0.5 });
  const recorded = (): number =>
    Array.from({ length: 10_000 }, () => decide([cause(true)])).filter(Boolean).length;
  assert.equal(recorded(), mostFollowedEachSecond);
  now = 60_000;
  assert.equal(recorded(), mostFollowedEachSecond);
});

test("a cause that is not recorded decides nothing, and no cause does where the sampler is not parent-based", () => {
  const parts = { nowMs: () => 0, random: () => 0.5 };
  const follows = createDecision({ choice: { ratio: 0.1, followsParent: true }, ...parts });
  assert.equal(follows([cause(false)]), false);
  assert.equal(follows([cause(false), cause(true)]), true);
  const own = createDecision({ choice: { ratio: 0, followsParent: false }, ...parts });
  assert.equal(own([cause(true)]), false);
  assert.equal(createDecision({ choice: { ratio: 1, followsParent: false }, ...parts })([]), true);
});
