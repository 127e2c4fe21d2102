import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { register } from "prom-client";
import type { CounterDeclaration, GaugeDeclaration, HistogramDeclaration } from "./declaration.ts";
import { createMetrics } from "./metrics.ts";

const processes = [] as const;
const requests: CounterDeclaration<"verb"> = {
  name: "requests_total",
  type: "counter",
  help: "Requests",
  labels: ["verb"],
  processes,
};
const inFlight: GaugeDeclaration = {
  name: "in_flight",
  type: "gauge",
  help: "Requests in flight",
  labels: [],
  processes,
};
const objects: GaugeDeclaration<"kind"> = {
  name: "objects",
  type: "gauge",
  help: "Objects",
  labels: ["kind"],
  processes,
};
const duration: HistogramDeclaration<"verb"> = {
  name: "duration_seconds",
  type: "histogram",
  help: "Duration",
  labels: ["verb"],
  buckets: [0.1, 1],
  processes,
};

test("every kind of metric appears in the exposition text with its labels", async () => {
  const metrics = createMetrics();
  metrics.counter(requests).labels({ verb: "get" }).inc(2);
  metrics.gauge(inFlight).labels({}).set(3);
  metrics.read(objects, () => [{ labels: { kind: "a" }, value: 5 }]);
  for (const seconds of [0.1, 0.5, 7]) metrics.histogram(duration).labels({ verb: "get" }).observe(seconds);
  assert.equal(
    await metrics.text(),
    [
      "# HELP requests_total Requests",
      "# TYPE requests_total counter",
      'requests_total{verb="get"} 2',
      "",
      "# HELP in_flight Requests in flight",
      "# TYPE in_flight gauge",
      "in_flight 3",
      "",
      "# HELP objects Objects",
      "# TYPE objects gauge",
      'objects{kind="a"} 5',
      "",
      "# HELP duration_seconds Duration",
      "# TYPE duration_seconds histogram",
      'duration_seconds_bucket{le="0.1",verb="get"} 1',
      'duration_seconds_bucket{le="1",verb="get"} 2',
      'duration_seconds_bucket{le="+Inf",verb="get"} 3',
      'duration_seconds_sum{verb="get"} 7.6',
      'duration_seconds_count{verb="get"} 3',
      "",
    ].join("\n"),
  );
});

test("two registries do not share metrics, and the global one of the library has none", async () => {
  const metrics = createMetrics({ processMetrics: true });
  metrics.counter(requests).labels({ verb: "get" }).inc();
  metrics.gauge(inFlight).labels({}).set(1);
  metrics.histogram(duration).labels({ verb: "get" }).observe(1);
  metrics.read(objects, () => []);
  assert.equal((await createMetrics().text()).includes("requests_total"), false);
  assert.deepEqual(register.getMetricsAsArray(), []);
});

test("two metrics of different types cannot have one name", () => {
  const metrics = createMetrics();
  metrics.counter(requests);
  assert.throws(() => metrics.gauge({ ...objects, name: requests.name }), /already been registered/);
});

test("a label that is not given is empty", async () => {
  const metrics = createMetrics();
  const counter: CounterDeclaration<string> = { ...requests, labels: ["verb", "host"] };
  metrics.counter(counter).labels({ host: "a" }).inc();
  assert.match(await metrics.text(), /^requests_total\{verb="",host="a"\} 1$/m);
});

test("a value that is no number is not observed, and spoils nothing", async () => {
  const metrics = createMetrics();
  const child = metrics.histogram(duration).labels({ verb: "get" });
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) assert.throws(() => child.observe(value));
  child.observe(1);
  assert.match(await metrics.text(), /^duration_seconds_sum\{verb="get"\} 1$/m);
});

test("levels that are no finite number are shown as Prometheus writes them", async () => {
  const metrics = createMetrics();
  const level = metrics.gauge(objects);
  level.labels({ kind: "most" }).set(Number.POSITIVE_INFINITY);
  level.labels({ kind: "least" }).set(Number.NEGATIVE_INFINITY);
  const text = await metrics.text();
  assert.match(text, /^objects\{kind="most"\} \+Inf$/m);
  assert.match(text, /^objects\{kind="least"\} -Inf$/m);
});

test("a source that fails fails the scrape, and the next one is whole again", async () => {
  const metrics = createMetrics();
  const broken = metrics.read(objects, () => {
    throw new Error("no longer known");
  });
  metrics.read(objects, () => [{ labels: { kind: "a" }, value: 5 }]);
  await assert.rejects(metrics.text(), /no longer known/);
  broken[Symbol.dispose]();
  assert.match(await metrics.text(), /^objects\{kind="a"\} 5$/m);
});

test("asking twice for one metric gives the same one instead of failing", async () => {
  const metrics = createMetrics();
  for (const verb of ["get", "put", "get"]) {
    metrics.counter(requests).labels({ verb }).inc();
    metrics.histogram(duration).labels({ verb }).observe(1);
  }
  assert.equal(
    metrics.counter(requests).labels({ verb: "x" }),
    metrics.counter(requests).labels({ verb: "x" }),
  );
  const text = await metrics.text();
  assert.match(text, /^requests_total\{verb="get"\} 2$/m);
  assert.match(text, /^duration_seconds_count\{verb="put"\} 1$/m);
});

test("a metric without labels is there from the beginning; one with labels shows what it is", async () => {
  const metrics = createMetrics();
  metrics.gauge(inFlight);
  metrics.counter(requests);
  const text = await metrics.text();
  assert.match(text, /^in_flight 0$/m);
  assert.match(text, /^# TYPE requests_total counter$/m);
});

test("several sources of one gauge are combined as it says, and go when they are disposed", async () => {
  for (const [combine, expected] of [
    ["sum", 12],
    ["min", 5],
    ["max", 7],
  ] as const) {
    const metrics = createMetrics();
    const read = (value: number): Disposable =>
      metrics.read({ ...objects, combine }, () => [{ labels: { kind: "a" }, value }]);
    const first = read(5);
    read(7);
    assert.match(await metrics.text(), new RegExp(`^objects\\{kind="a"\\} ${expected}$`, "m"));
    first[Symbol.dispose]();
    assert.match(await metrics.text(), /^objects\{kind="a"\} 7$/m);
  }
});

test("a label whose values come from outside has at most a limited number, and all others share one", async () => {
  const metrics = createMetrics();
  const bounded = metrics.counter({ ...requests, mostValues: { verb: 2 } });
  for (const verb of ["a", "b", "c", "d", "a"]) bounded.labels({ verb }).inc();
  assert.deepEqual((await metrics.text()).split("\n").slice(2, 5), [
    'requests_total{verb="a"} 2',
    'requests_total{verb="b"} 1',
    'requests_total{verb="other"} 2',
  ]);
});

test("values that would break the text are escaped", async () => {
  const metrics = createMetrics();
  metrics.counter(requests).labels({ verb: 'a"b\\c\nd' }).inc();
  assert.match(await metrics.text(), /^requests_total\{verb="a\\"b\\\\c\\nd"\} 1$/m);
});

test("each observation counts in all buckets that are not below it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.double({ min: 0, max: 3, noNaN: true })), async (seen) => {
      const metrics = createMetrics();
      const child = metrics.histogram(duration).labels({ verb: "get" });
      for (const value of seen) child.observe(value);
      const text = await metrics.text();
      for (const bound of [0.1, 1]) {
        const counted = new RegExp(`le="${bound}",verb="get"\\} (\\d+)`).exec(text)?.[1];
        assert.equal(Number(counted), seen.filter((value) => value <= bound).length);
      }
    }),
    { numRuns: 50 },
  );
});

test("figures of the process are added only when they are wanted, and none is named as what it is not", async () => {
  const text = await createMetrics({ processMetrics: true }).text();
  assert.match(text, /^process_cpu_seconds_total /m);
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  assert.ok(types.length > 20);
  for (const [, name = "", type] of types) assert.equal(name.endsWith("_total"), type === "counter", name);
  assert.equal(await createMetrics().text(), "\n");
});
