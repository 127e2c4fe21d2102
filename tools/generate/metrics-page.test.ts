/** Applies the rules of `promtool check metrics` (Prometheus' promlint) to all declared metrics. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricDeclaration } from "@klutch/telemetry";
import { catalogue } from "./metrics-page.ts";

const baseUnits = [
  "amperes",
  "bytes",
  "celsius",
  "grams",
  "joules",
  "kelvins",
  "meters",
  "metres",
  "moles",
  "seconds",
  "volts",
];
const wrongUnits = [
  ...["milli", "micro", "nano", "kilo", "mega", "giga"].flatMap((prefix) =>
    baseUnits.map((unit) => prefix + unit),
  ),
  "ms",
  "us",
  "ns",
  "minutes",
  "hours",
  "days",
  "kb",
  "mb",
  "percent",
];

/** Rules by name: whether the metric breaks it. */
const rules: Readonly<Record<string, (metric: MetricDeclaration) => boolean>> = {
  "has a help text": ({ help }) => help.trim() === "",
  "help does not end with a full stop, as one sentence": ({ help }) => /[.\n]\s*$/.test(help),
  "counters end with _total": ({ type, name }) => type === "counter" && !name.endsWith("_total"),
  "only counters end with _total": ({ type, name }) => type !== "counter" && name.endsWith("_total"),
  "only histograms end with _bucket, _count, _sum": ({ name }) => /_(bucket|count|sum)$/.test(name),
  "names have no colon, no capital letters and no double underscore": ({ name }) =>
    !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name),
  "units are base units": ({ name }) => name.split("_").some((word) => wrongUnits.includes(word)),
  "durations end with their unit": ({ name, type }) =>
    type === "histogram" ? !/_(seconds|bytes)$/.test(name) : /_(duration|latency|time)$/.test(name),
  "names do not hold their type": ({ name }) => /(^|_)(counter|gauge|histogram|summary)(_|$)/.test(name),
  "labels are in snake case": ({ labels }) =>
    labels.some((label) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(label)),
  "labels are none that Prometheus makes": ({ labels }) =>
    labels.some((label) => ["le", "quantile", "job", "instance"].includes(label)),
  "labels name no object of a user": ({ labels }) =>
    labels.some((label) => ["namespace", "object", "uid", "pod", "user", "claim", "binding"].includes(label)),
  "labels do not stand in the name": ({ name, labels }) =>
    labels.some((label) => name.includes(`_by_${label}`)),
  "histograms have ascending buckets, others none": ({ type, buckets = [] }) =>
    type === "histogram"
      ? buckets.length === 0 || buckets.some((bound, index) => bound <= (buckets[index - 1] ?? -1))
      : buckets.length > 0,
  "labels from outside are bounded": ({ labels, mostValues }) =>
    labels.includes("host") && mostValues === undefined,
  "it is in some process": ({ processes }) => processes.length === 0,
};

for (const [rule, isBroken] of Object.entries(rules)) {
  test(`of every metric: ${rule}`, () => {
    assert.deepEqual(
      catalogue.filter(isBroken).map(({ name }) => name),
      [],
    );
  });
}

test("no name is declared twice, and none is a part of a histogram", () => {
  const names = catalogue.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  const parts = catalogue
    .filter(({ type }) => type === "histogram")
    .flatMap(({ name }) => ["bucket", "sum", "count"].map((suffix) => `${name}_${suffix}`));
  assert.deepEqual(
    names.filter((name) => parts.includes(name)),
    [],
  );
});

test("the rules see what they are for", () => {
  const bad = (metric: Partial<MetricDeclaration>): readonly string[] => {
    const full: MetricDeclaration = {
      name: "a",
      type: "gauge",
      help: "A",
      labels: [],
      processes: ["broker"],
      ...metric,
    };
    return Object.entries(rules)
      .filter(([, isBroken]) => isBroken(full))
      .map(([rule]) => rule);
  };
  assert.deepEqual(bad({}), []);
  assert.deepEqual(bad({ name: "requests", type: "counter" }), ["counters end with _total"]);
  assert.deepEqual(bad({ name: "lag_milliseconds" }), ["units are base units"]);
  assert.deepEqual(bad({ name: "a:b" }), [
    "names have no colon, no capital letters and no double underscore",
  ]);
  assert.deepEqual(bad({ labels: ["claim"] }), ["labels name no object of a user"]);
  assert.deepEqual(bad({ help: " " }), ["has a help text"]);
});
