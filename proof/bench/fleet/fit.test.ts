import assert from "node:assert/strict";
import { test } from "node:test";
import { checkCost, costAt, fitCost } from "./fit.ts";
import { watchesIn } from "./measure.ts";

test("a line through costs on a line gives the cost of no cluster and of each further one", () => {
  const line = fitCost([
    [10, 120],
    [30, 160],
    [100, 300],
  ]);
  assert.deepEqual({ base: Math.round(line.base), each: Math.round(line.each) }, { base: 100, each: 2 });
  assert.equal(Math.round(costAt(line, 1_000)), 2_100);
});

test("the largest size is no part of the line that it checks", () => {
  const checked = checkCost([
    [300, 1_000],
    [10, 120],
    [30, 160],
  ]);
  assert.equal(Math.round(checked?.expected ?? 0), 700);
  assert.equal(Math.round(checked?.offPercent ?? 0), -30);
  assert.equal(
    checkCost([
      [10, 1],
      [30, 2],
    ]),
    undefined,
  );
});

test("open watches are counted by whom they serve, and other long requests are not", () => {
  const line = (group: string, resource: string, verb: string, value: number): string =>
    `apiserver_longrunning_requests{group="${group}",resource="${resource}",verb="${verb}"} ${value}`;
  const text = [
    line("fleet.klutch.example", "things0", "WATCH", 50),
    line("fleet.klutch.example", "things1", "WATCH", 50),
    line("", "secrets", "WATCH", 7),
    line("", "pods", "CONNECT", 3),
    line("klutch.anynines.com", "apiserviceexports", "WATCH", 11),
    line("", "namespaces", "WATCH", 2),
  ].join("\n");
  const { byResource, ...counts } = watchesIn(text);
  assert.deepEqual(counts, { all: 120, bound: 100, secrets: 7, klutch: 11 });
  assert.deepEqual([byResource["/secrets"], byResource["/pods"]], [7, undefined]);
});
