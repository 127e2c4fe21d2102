import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServiceInstance, usageAnnotation } from "@klutch/api";
import { createMetrics } from "@klutch/telemetry";
import { usedInstance } from "../testing/usage-provider.ts";
import { readMeasuredInstances } from "./measured-instances.ts";

const now = Date.UTC(2026, 10, 29, 12);
const at = "2026-11-29T06:00:00Z";
const old = "2026-10-01T00:00:00Z";

function existing(namespace: string, measured: object | undefined, plan = "small"): ServiceInstance {
  const object = usedInstance("one", namespace, plan);
  const open = { service: "pg", plan, config: "c", from: "2026-01-01T00:00:00Z" };
  return {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { [usageAnnotation]: JSON.stringify({ closed: [], open }) },
    },
    status: { atProvider: { measured } },
  } as unknown as ServiceInstance;
}

async function seriesOf(
  all: readonly ServiceInstance[],
  mostNamespaces?: number,
): Promise<readonly string[]> {
  const metrics = createMetrics();
  readMeasuredInstances(metrics, { instances: () => all, clock: { now: () => now }, mostNamespaces });
  const text = await metrics.text();
  return text.split("\n").filter((line) => /^klutch_(?:instance_bytes|idle_instances)\{/.test(line));
}

test("sizes and idle instances are told by namespace of claims, service and plan", async () => {
  const series = await seriesOf([
    existing("a", { at, bytes: 5, lastSession: old }),
    existing("a", { at, bytes: 7, lastSession: at }),
    existing("a", { at, bytes: 100 }, "large"),
    existing("b", { at, lastSession: at }),
  ]);
  assert.deepEqual(series.toSorted(), [
    'klutch_idle_instances{claim_namespace="a",service="pg",plan="small"} 1',
    'klutch_idle_instances{claim_namespace="b",service="pg",plan="small"} 0',
    'klutch_instance_bytes{claim_namespace="a",service="pg",plan="large"} 100',
    'klutch_instance_bytes{claim_namespace="a",service="pg",plan="small"} 12',
  ]);
});

test("what no broker told, or told in vain, has no series: neither 0 bytes nor idle", async () => {
  const lies = [undefined, { at: "3000-01-01T00:00:00Z", bytes: 5, lastSession: old }, { at, bytes: -1 }];
  assert.deepEqual(await seriesOf(lies.map((measured) => existing("a", measured))), []);
});

test("10,000 namespaces and plans have a bounded number of series, and no byte is lost", async () => {
  const all = Array.from({ length: 10_000 }, (_, index) =>
    existing(`tenant-${index}`, { at, bytes: 1, lastSession: old }, `plan-${index}`),
  );
  const series = await seriesOf(all, 3);
  assert.ok(series.length < 500, `${series.length} series`);
  const bytes = series.filter((line) => line.startsWith("klutch_instance_bytes"));
  assert.equal(
    bytes.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0),
    10_000,
  );
});
