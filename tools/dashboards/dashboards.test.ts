/** The dashboards, held against our metrics and recorded series. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings } from "../alerts/objectives.ts";
import { catalogue } from "../generate/metrics-page.ts";
import { dashboards, panelsIn } from "./dashboards.ts";
import { dashboardFiles, queryOf } from "./print.ts";

const programs: Readonly<Record<string, readonly string[]>> = {
  klutch: ["backend", "provider-anynines"],
  "klutch-konnector": ["konnector"],
};

test("each query asks for metrics, labels and recorded series that the programs of its chart have", () => {
  for (const dashboard of dashboards)
    for (const { title, queries } of panelsIn(dashboard))
      for (const { expression, legend } of queries) {
        const query = queryOf(expression, dashboard.chart);
        const recorded = query.match(/\bslo:\w+:\w+/g) ?? [];
        for (const name of recorded)
          assert.ok(
            recordings.some((each) => each.name === name),
            `${title}: ${name}`,
          );
        const names = query.match(/\b(?:klutch|crossplane|controller|workqueue|leader|rest)_\w+/g) ?? [];
        assert.ok(names.length + recorded.length > 0 || query.includes("process_"), title);
        for (const name of names.filter((each) => !query.includes(`by (${each}`))) {
          const metric = catalogue.find((each) => each.name === name.replace(/_bucket$/, ""));
          assert.ok(metric !== undefined, `${title}: there is no metric ${name}`);
          assert.ok(
            metric.processes.some((each) => programs[dashboard.chart]?.includes(each)),
            `${title}: ${name}`,
          );
          const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
          for (const label of shown)
            assert.ok(metric.labels.includes(label), `${title}: ${name} has no ${label}`);
          if (!name.startsWith("klutch_") && !name.startsWith("crossplane_"))
            assert.ok(query.includes(`${name}{job=~`), `${title}: others have ${name}, too`);
        }
      }
});

test("a dashboard is one file of its chart, panels do not overlap, and their titles differ", () => {
  for (const dashboard of dashboards) {
    const { chart, name, sections } = dashboard;
    const text = dashboardFiles(chart)[`dashboards/${name}.json`] ?? "";
    const { panels: printed } = JSON.parse(text) as {
      panels: { title: string; gridPos: { x: number; y: number; w: number; h: number } }[];
    };
    assert.deepEqual(
      printed.map(({ title }) => title),
      sections.flatMap(({ title, panels }) => [title, ...panels.map((panel) => panel.title)]),
    );
    assert.equal(new Set(printed.map(({ title }) => title)).size, printed.length);
    for (const [index, { gridPos: one }] of printed.entries())
      for (const { gridPos: other } of printed.slice(index + 1))
        assert.ok(
          one.x + one.w <= other.x ||
            other.x + other.w <= one.x ||
            one.y + one.h <= other.y ||
            other.y + other.h <= one.y,
        );
    assert.ok(text.length < 32_768);
    assert.doesNotMatch(text, /\$(?:jobs|window)/);
  }
});

test("a latest value is red unless it is good, and a moment is that of one series for each legend", () => {
  for (const dashboard of dashboards)
    for (const { title, thresholds, queries } of panelsIn(dashboard)) {
      if (thresholds !== undefined) assert.deepEqual(thresholds[0], { color: "red" }, title);
      for (const { expression } of queries.filter((query) => query.expression.includes("_timestamp_seconds")))
        assert.match(expression, /min by \([\w, ]+\) \(\w+_timestamp_seconds\)/, title);
    }
});
