/** Prints dashboards in Grafana's format, for the charts. */
import { type AlertChart, jobsOf } from "../alerts/alerts.ts";
import { dashboards } from "./dashboards.ts";
import type { Dashboard, Panel, Section } from "./panel.ts";

/** Columns of Grafana's grid, width of a third of them, and height of a panel. */
const [columns, third, height] = [24, 8, 7];

/** Returns the files of a chart's dashboards by their paths in the chart. */
export function dashboardFiles(chart: AlertChart): Readonly<Record<string, string>> {
  const own = dashboards.filter((each) => each.chart === chart);
  return Object.fromEntries(own.map((each) => [`dashboards/${each.name}.json`, dashboardJson(each)]));
}

/** Returns a query with its places filled, but for Grafana's own variables. */
export function queryOf(expression: string, chart: AlertChart): string {
  return expression.replaceAll("$jobs", `job=~"${jobsOf[chart]}"`).replaceAll("$window", "$__rate_interval");
}

/** Returns the JSON with one line for each panel, so that changes can be read. */
export function dashboardJson(dashboard: Dashboard): string {
  const { chart, name, title, sections } = dashboard;
  const head = {
    uid: `klutch-${name}`,
    title,
    tags: ["klutch"],
    schemaVersion: 39,
    timezone: "browser",
    refresh: "1m",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [{ name: "datasource", type: "datasource", query: "prometheus", label: "Prometheus" }],
    },
  };
  const lines = placesOf(sections).map(({ item, gridPos }, index) => {
    const own = "panels" in item ? headingOf(item) : panelOf(item, chart);
    return JSON.stringify({ id: index + 1, ...own, gridPos });
  });
  return `${JSON.stringify(head).slice(0, -1)},"panels":[\n${lines.join(",\n")}\n]}\n`;
}

/** A place in Grafana's grid, in its units. */
interface GridPos {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Lays sections out below each other: a heading, and its panels in rows, each where the last one ends if it fits there. */
function placesOf(
  sections: readonly Section[],
): readonly { readonly item: Section | Panel; readonly gridPos: GridPos }[] {
  let y = 0;
  return sections.flatMap((section) => {
    const heading = { item: section, gridPos: { x: 0, y, w: columns, h: 1 } };
    y += 1;
    let x = 0;
    const panels = section.panels.map((item) => {
      const w = third * (item.thirds ?? 1);
      if (x + w > columns) [x, y] = [0, y + height];
      const gridPos = { x, y, w, h: height };
      x += w;
      return { item, gridPos };
    });
    y += height;
    return [heading, ...panels];
  });
}

/** An open row: Grafana takes the panels below it as its own. */
function headingOf({ title }: Section): object {
  return { type: "row", title, collapsed: false, panels: [] };
}

function panelOf(panel: Panel, chart: AlertChart): object {
  const { title, about, unit, queries, thresholds, thirds = 1, canBeNegative = false } = panel;
  const steps = thresholds?.map(({ color, from = null }) => ({ color, value: from }));
  return {
    type: steps === undefined ? "timeseries" : "stat",
    title,
    description: about,
    datasource: { type: "prometheus", uid: "${datasource}" },
    fieldConfig: {
      defaults: {
        unit,
        ...(unit === "none" && { decimals: 0 }),
        ...(!canBeNegative && { min: 0 }),
        ...(steps !== undefined && { thresholds: { mode: "absolute", steps } }),
      },
      overrides: [],
    },
    ...(steps === undefined
      ? thirds > 1 && {
          options: { legend: { displayMode: "table", placement: "right", calcs: ["lastNotNull"] } },
        }
      : { options: { colorMode: "background", reduceOptions: { calcs: ["lastNotNull"] } } }),
    targets: queries.map(({ expression, legend }, at) => ({
      refId: String.fromCodePoint(65 + at),
      expr: queryOf(expression, chart),
      legendFormat: legend,
    })),
  };
}
