import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSummaries, type Measurement, summarise } from "./measurement.ts";

const burst = (value: number): Measurement => ({
  metric: "burst",
  unit: "/s",
  value,
  target: { atLeast: 200 },
});
const lag = (value: number): Measurement => ({ metric: "lag", unit: "ms", value, target: { atMost: 20 } });

test("the median of all runs is held against the target", () => {
  const [one, two] = summarise([burst(150), lag(10), burst(250), lag(30), burst(240)]);
  assert.deepEqual([one?.metric, one?.median, one?.isMet], ["burst", 240, true]);
  assert.deepEqual([two?.metric, two?.median, two?.all, two?.isMet], ["lag", 20, [10, 30], true]);
});

test("a missed target is reported, and a figure without target is neither met nor missed", () => {
  const table = formatSummaries(summarise([burst(12.345), { metric: "peak", unit: "MiB", value: 200.4 }]));
  assert.match(table, /burst +\| ≥ 200\/s +\| 12\.3\/s +\|  +12\.3 \| NO/);
  assert.match(table, /peak +\| +\| 200 MiB +\|/);
});
