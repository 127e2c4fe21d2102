/** Whatever is counted, set, observed and read: a scrape shows it, and nothing else. The model beside it only adds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CounterDeclaration, GaugeDeclaration, HistogramDeclaration } from "./declaration.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

const processes = [] as const;
const labels = ["first", "second"] as const;
type Label = (typeof labels)[number];

const counted: CounterDeclaration<Label> = {
  name: "counted_total",
  type: "counter",
  help: "Counted, with a \\ in its help",
  labels,
  processes,
};
const bounded: CounterDeclaration<Label> = {
  name: "bounded_total",
  type: "counter",
  help: "Counted, with a bound of one label",
  labels,
  mostValues: { second: 2 },
  processes,
};
const level: GaugeDeclaration<Label> = { name: "level", type: "gauge", help: "Level", labels, processes };
const observed: HistogramDeclaration<Label> = {
  name: "observed_seconds",
  type: "histogram",
  help: "Observed",
  labels,
  buckets: [1e-8, 0.005, 0.5, 1, 60],
  processes,
};
const bare: CounterDeclaration = { ...counted, name: "bare_total", labels: [] };
const bareObserved: HistogramDeclaration = { ...observed, name: "bare_seconds", labels: [] };
const bareLevel: GaugeDeclaration = { ...level, name: "bare_level", labels: [] };
const readings: readonly GaugeDeclaration<Label>[] = [
  { ...level, name: "read_sum" },
  { ...level, name: "read_min", combine: "min" },
  { ...level, name: "read_max", combine: "max" },
];
const bareRead: GaugeDeclaration = { ...bareLevel, name: "bare_read" };
const all = [counted, bounded, level, observed, bare, bareObserved, bareLevel, ...readings, bareRead];

/** One thing that a program does. */
interface Step {
  readonly kind: "count" | "bounded" | "set" | "observe" | "bind" | "bare" | "read" | "dispose" | "bare read";
  readonly first: string;
  readonly second: string;
  readonly value: number;
}

/** Values that a label's text must escape are among them. */
const texts = ["get", "put", "", 'quote"', "back\\slash", "line\nend", "ünïcode", "{a}"];

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom(
      "count",
      "bounded",
      "set",
      "observe",
      "bind",
      "bare",
      "read",
      "dispose",
      "bare read",
    ),
    first: fc.constantFrom(...texts),
    second: fc.constantFrom(...texts),
    value: fc.oneof(
      fc.constantFrom(0, 1e-8, 0.005, 0.0050001, 1, 60, 61, 1e21),
      fc.double({ min: 0, max: 100, noNaN: true }),
    ),
  }),
  { maxLength: 40 },
);

test("a scrape shows what was counted, set, observed and read, whatever that was", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (made) => {
      const metrics = createMetrics();
      const model = new Model();
      const sources: Disposable[] = [];
      for (const declaration of [counted, bounded, bare]) metrics.counter<string>(declaration);
      for (const declaration of [level, bareLevel]) metrics.gauge<string>(declaration);
      for (const declaration of [observed, bareObserved]) metrics.histogram<string>(declaration);
      for (const declaration of [...readings, bareRead])
        metrics.read<string>(declaration, () => [])[Symbol.dispose]();
      for (const step of made) {
        perform(metrics, sources, step);
        model.note(step);
      }
      const text = await metrics.text();
      assert.deepEqual(samplesOf(text), model.samples());
      for (const { name, help, type } of all) {
        const header = [`# HELP ${name} ${help.replaceAll("\\", "\\\\")}`, `# TYPE ${name} ${type}`];
        const lines = text.split("\n");
        const at = lines.indexOf(header[0] ?? "");
        assert.deepEqual(lines.slice(at, at + 2), header);
        assert.equal(lines.filter((line) => line.split(" ")[2] === name && line.startsWith("#")).length, 2);
      }
    }),
    { numRuns: 300 },
  );
});

function perform(metrics: Metrics, sources: Disposable[], { kind, first, second, value }: Step): void {
  const values = { first, second };
  if (kind === "count") metrics.counter(counted).labels(values).inc(value);
  else if (kind === "bounded") metrics.counter(bounded).labels(values).inc();
  else if (kind === "set") metrics.gauge(level).labels(values).set(value);
  else if (kind === "observe") metrics.histogram(observed).labels(values).observe(value);
  else if (kind === "bind") {
    metrics.counter(counted).labels(values);
    metrics.gauge(level).labels(values);
    metrics.histogram(observed).labels(values);
  } else if (kind === "bare") {
    metrics.counter(bare).labels({}).inc();
    metrics.gauge(bareLevel).labels({}).set(value);
    metrics.histogram(bareObserved).labels({}).observe(value);
  } else if (kind === "read") {
    for (const reading of readings) sources.push(metrics.read(reading, () => [{ labels: values, value }]));
  } else if (kind === "bare read") {
    sources.push(metrics.read(bareRead, () => [{ labels: {}, value }]));
  } else for (const source of sources.splice(0)) source[Symbol.dispose]();
}

interface Observations {
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
  readonly seen: number[];
}

/** The contents of one scrape, from the same steps: numbers by name and labels, with nothing bound beforehand. */
class Model {
  readonly #numbers = new Map<string, number>();
  readonly #observations = new Map<string, Observations>();
  readonly #seconds = new Set<string>();
  #read: Step[] = [];
  #bareRead: Step[] = [];

  constructor() {
    for (const name of ["bare_total", "bare_level"]) this.#numbers.set(keyOf(name, {}), 0);
    this.#observe("bare_seconds", {});
  }

  note(step: Step): void {
    const { kind, first, second, value } = step;
    const values = { first, second };
    if (kind === "count") this.#add("counted_total", values, value);
    else if (kind === "bounded") this.#add("bounded_total", { first, second: this.#bound(second) }, 1);
    else if (kind === "set") this.#numbers.set(keyOf("level", values), value);
    else if (kind === "observe") this.#observe("observed_seconds", values, value);
    else if (kind === "bind") {
      for (const name of ["counted_total", "level"]) this.#add(name, values, 0);
      this.#observe("observed_seconds", values);
    } else if (kind === "bare") {
      this.#add("bare_total", {}, 1);
      this.#numbers.set(keyOf("bare_level", {}), value);
      this.#observe("bare_seconds", {}, value);
    } else if (kind === "read") this.#read.push(step);
    else if (kind === "bare read") this.#bareRead.push(step);
    else [this.#read, this.#bareRead] = [[], []];
  }

  samples(): Readonly<Record<string, number>> {
    const samples = new Map(this.#numbers);
    for (const { first, second } of this.#read) {
      const values = { first, second };
      const same = this.#read.filter((other) => other.first === first && other.second === second);
      const numbers = same.map(({ value }) => value);
      samples.set(keyOf("read_sum", values), total(numbers));
      samples.set(keyOf("read_min", values), Math.min(...numbers));
      samples.set(keyOf("read_max", values), Math.max(...numbers));
    }
    if (this.#bareRead.length > 0)
      samples.set(keyOf("bare_read", {}), total(this.#bareRead.map(({ value }) => value)));
    for (const { name, values, seen } of this.#observations.values()) {
      for (const bound of observed.buckets ?? [])
        samples.set(
          keyOf(`${name}_bucket`, { ...values, le: String(bound) }),
          seen.filter((value) => value <= bound).length,
        );
      samples.set(keyOf(`${name}_bucket`, { ...values, le: "+Inf" }), seen.length);
      samples.set(keyOf(`${name}_sum`, values), total(seen));
      samples.set(keyOf(`${name}_count`, values), seen.length);
    }
    return Object.fromEntries(samples);
  }

  #add(name: string, values: Readonly<Record<string, string>>, by: number): void {
    const key = keyOf(name, values);
    this.#numbers.set(key, (this.#numbers.get(key) ?? 0) + by);
  }

  #observe(name: string, values: Readonly<Record<string, string>>, ...seen: readonly number[]): void {
    const key = keyOf(name, values);
    const known = this.#observations.get(key) ?? { name, values, seen: [] };
    known.seen.push(...seen);
    this.#observations.set(key, known);
  }

  #bound(second: string): string {
    if (this.#seconds.size < 2) this.#seconds.add(second);
    return this.#seconds.has(second) ? second : "other";
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, value) => sum + value, 0);
}

/** The same for the same labels in whatever order. */
function keyOf(name: string, values: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(values).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `${name}{${sorted.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(",")}}`;
}

/** Reads the text format; a line that is none of it or a sample that stands twice fails. */
function samplesOf(text: string): Readonly<Record<string, number>> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("# ")) continue;
    const [, name = "", inner = "", value = ""] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    assert.notEqual(name, "", line);
    const pairs = [...inner.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)];
    assert.equal(pairs.map(([all]) => all).join(""), inner);
    const values = Object.fromEntries(pairs.map(([, label = "", raw = ""]) => [label, unescaped(raw)]));
    const key = keyOf(name, values);
    assert.equal(samples.has(key), false, line);
    samples.set(key, Number(value));
  }
  return Object.fromEntries(samples);
}

function unescaped(raw: string): string {
  return raw.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
}
