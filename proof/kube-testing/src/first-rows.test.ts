import assert from "node:assert/strict";
import { test } from "node:test";
import { assertQuick, startBarePage } from "./first-rows.ts";

const bounds = { withinMs: 1_000, timesFloor: 8, quietMs: 200 };
const five = (ms: number): readonly number[] => [ms, ms / 2, ms, ms * 9, ms];

test("on a quiet machine both bounds hold, and one slow round does not count", () => {
  assert.match(
    assertQuick({ pageMs: five(900), floorMs: five(150) }, bounds),
    /6\.0 times as long, on a quiet/,
  );
  assert.throws(() => assertQuick({ pageMs: five(1_100), floorMs: five(150) }, bounds), /more than 1000 ms/);
});

test("on a loaded machine the page may take longer than the absolute bound, but not more of the floor", () => {
  assert.match(
    assertQuick({ pageMs: five(3_000), floorMs: five(600) }, bounds),
    /5\.0 times as long, on a loaded/,
  );
  assert.throws(() => assertQuick({ pageMs: five(5_000), floorMs: five(600) }, bounds), /more than 8 times/);
});

test("nothing measured is no success", () => {
  assert.throws(() => assertQuick({ pageMs: [], floorMs: five(1) }, bounds), /nothing was measured/);
  assert.throws(() => assertQuick({ pageMs: five(Number.NaN), floorMs: five(1) }, bounds), /times the floor/);
});

test("the bare server has the same rows", async () => {
  const rows = JSON.stringify({ rows: [{ id: "one" }] });
  await using bare = await startBarePage(rows);
  assert.equal(await (await fetch(new URL("/rows", bare.url))).text(), rows);
  assert.match(await (await fetch(bare.url)).text(), /^<!doctype html>/);
});
