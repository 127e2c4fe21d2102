import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { boundedSeries, longestValue } from "./bounded-series.ts";
import type { Sample } from "./labels.ts";

type Label = "tenant" | "service" | "state";

const one = (tenant: string, service: string, state = "ready", value = 1): Sample<Label> => ({
  labels: { tenant, service, state },
  value,
});
const total = (samples: Iterable<Sample<string>>): number =>
  [...samples].reduce((sum, { value }) => sum + value, 0);

test("ten thousand names of services are few series, and none is lost", () => {
  const bombs = Array.from({ length: 10_000 }, (_, index) =>
    one(`tenant-${index % 700}`, `service-${index}`),
  );
  const honest = Array.from({ length: 300 }, () => one("tenant-1", "postgresql"));
  const series = boundedSeries([...bombs, ...honest], { most: { tenant: 50, service: 20 } });
  assert.ok(series.length <= 50 * 21 + 1, `${series.length}`);
  assert.ok(series.length <= 1_000 + 1, `${series.length}`);
  assert.equal(total(series), 10_300);
  assert.deepEqual(
    series.find(({ labels }) => labels.service === "postgresql"),
    one("tenant-1", "postgresql", "ready", 300),
    "the most frequent value is shown by itself",
  );
  assert.equal(new Set(series.map(({ labels }) => labels.tenant)).size, 51);
});

test("beyond the most series only labels from outside are cut", () => {
  const samples = Array.from({ length: 4_000 }, (_, index) =>
    one(`t${index % 40}`, `s${index % 50}`, index % 2 === 0 ? "ready" : "failed"),
  );
  const series = boundedSeries(samples, { most: { tenant: 40, service: 50 }, mostSeries: 30 });
  assert.ok(series.length <= 32);
  const failed = series.filter(({ labels }) => labels.state === "failed");
  assert.equal(total(failed), 2_000);
});

test("a long value is cut, and one with half a character in it stays text", () => {
  const [found] = boundedSeries([one("x".repeat(longestValue - 2).concat("😀😀"), "a")], {
    most: { tenant: 5 },
  });
  const { tenant = "" } = found?.labels ?? {};
  assert.equal(tenant.length, longestValue);
  assert.ok(tenant.isWellFormed());
});

test("where the oldest counts, the rest shows the oldest of the rest", () => {
  const samples = [
    one("a", "x", "ready", 9),
    one("a", "x", "ready", 7),
    one("b", "x", "ready", 5),
    one("c", "x", "ready", 3),
  ];
  const series = boundedSeries(samples, { most: { tenant: 1 }, combine: Math.min });
  assert.deepEqual(series, [one("a", "x", "ready", 7), one("other", "x", "ready", 3)]);
});

test("whatever comes, the sum stays, the bounds hold, and the order does not matter", () => {
  const word = fc.oneof(fc.constantFrom("a", "b", "other", ""), fc.string({ maxLength: 80 }));
  const sample = fc.record({ tenant: word, service: word, state: fc.constantFrom("ready", "failed") });
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 60 }), fc.nat(4), fc.nat(6), (rows, most, mostSeries) => {
      const samples = rows.map(({ tenant, service, state }) => one(tenant, service, state));
      const options = { most: { tenant: most, service: most }, mostSeries };
      const series = boundedSeries(samples, options);
      assert.equal(total(series), samples.length);
      for (const label of ["tenant", "service"] as const)
        assert.ok(new Set(series.map(({ labels }) => labels[label])).size <= most + 1);
      assert.ok(series.length <= mostSeries + 2, `${series.length} of ${mostSeries}`);
      const asTexts = (all: readonly Sample<string>[]): readonly string[] =>
        all.map(({ labels, value }) => JSON.stringify([labels, value])).toSorted();
      assert.deepEqual(asTexts(boundedSeries(samples.toReversed(), options)), asTexts(series));
    }),
    { numRuns: 500 },
  );
});
