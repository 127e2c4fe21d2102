import assert from "node:assert/strict";
import { test } from "node:test";
import { percentiles } from "../harness/statistics.ts";
import { missingMemory } from "./real.ts";
import { formatReal, type RealRecord } from "./real-report.ts";

const record = (clusters: number, factor: number): RealRecord => {
  const ways = { up: percentiles([10 * factor]), down: percentiles([20 * factor]) };
  return {
    cost: {
      clusters,
      apiServerRss: 400 * factor,
      etcdRss: 50,
      backendRss: 100,
      apiServerHeap: 0,
      apiServerCpu: 0,
      etcdCpu: 0,
      backendCpu: 0,
      agentsCpu: 0,
      agentsRss: 0,
      requestsPerMinute: 5,
      watches: { all: 64 * clusters, bound: 0, secrets: 0, klutch: 0, byResource: {} },
      etcdSize: 0,
      gatewayRss: 0,
      gatewayCpu: 0,
      served: 0,
    },
    came: 1,
    loginMs: 1_000,
    connect: percentiles([2_000 * factor]),
    alone: ways,
    together: ways,
    konnectorRss: 90,
    konnectorLargest: 95,
  };
};

test("further sizes are told as multiples of the first, and nothing is no multiple of nothing", () => {
  const lines = formatReal([record(1, 1), record(3, 1.5)]).split("\n");
  const cells = (name: string): readonly string[] =>
    (lines.find((line) => line.startsWith(`| ${name}`)) ?? "").split("|").map((cell) => cell.trim());
  assert.deepEqual(cells("claim → upstream alone").slice(2, 4), ["10; 10 ms", "15; 15 ms (1.50 ×; 1.50 ×)"]);
  assert.deepEqual(cells("connect").slice(2, 4), ["2.0; 2.0 s", "3.0; 3.0 s (1.50 ×; 1.50 ×)"]);
  assert.deepEqual(cells("API server").slice(2, 4), ["400 MiB", "600 MiB (1.50 ×)"]);
  assert.deepEqual(cells("its CPU time").slice(2, 4), ["0.0 %", "0.0 % (–)"]);
  assert.deepEqual(cells("watches").slice(2, 4), ["64", "192 (3.00 ×)"]);
});

test("app clusters only come when the machine has memory for them and for others", () => {
  assert.equal(missingMemory(4_100, 3), 0);
  assert.equal(missingMemory(4_000, 3), 100);
});
