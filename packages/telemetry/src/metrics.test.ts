import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./metrics.ts";

test("every kind of metric appears in the exposition text with its labels", async () => {
  const metrics = createMetrics();
  metrics.counter("requests_total", "Requests", ["verb"]).inc({ verb: "get" }, 2);
  metrics.gauge("in_flight", "Requests in flight").set(3);
  metrics.observedGauge("objects", "Objects", () => 5);
  metrics.histogram("duration_seconds", "Duration", [], [0.1, 1]).observe(0.5);
  const text = await metrics.text();
  for (const sample of [
    'requests_total{verb="get"} 2',
    "in_flight 3",
    "objects 5",
    'duration_seconds_bucket{le="0.1"} 0',
    'duration_seconds_bucket{le="1"} 1',
  ]) {
    assert.ok(text.includes(sample), `${sample} is missing in\n${text}`);
  }
});

test("two registries do not share metrics", async () => {
  createMetrics().counter("one_total", "One").inc();
  assert.ok(!(await createMetrics().text()).includes("one_total"));
});

test("asking twice for one name gives the same metric instead of failing", async () => {
  const metrics = createMetrics();
  for (const cluster of ["consumer", "provider"]) {
    metrics.counter("shared_total", "Shared", ["cluster"]).inc({ cluster });
    metrics.gauge("shared_gauge", "Shared", ["cluster"]).set(1, { cluster });
    metrics.histogram("shared_seconds", "Shared", ["cluster"]).observe(1, { cluster });
  }
  const text = await metrics.text();
  for (const name of ["shared_total", "shared_gauge", "shared_seconds_count"]) {
    assert.ok(text.includes(`${name}{cluster="consumer"} 1`), text);
    assert.ok(text.includes(`${name}{cluster="provider"} 1`), text);
  }
});
