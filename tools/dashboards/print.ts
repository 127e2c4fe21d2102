/** Prints dashboards in Grafana's format, for the charts. */
import { type AlertChart, jobsOf } from "../alerts/alerts.ts";
import { type Dashboard, dashboards, type Panel } from "./dashboards.ts";

/** Columns of Grafana's grid, and size of a panel in it. */
const [columns, width, height] = [24, 8, 7];

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
  const { chart, name, title, panels } = dashboard;
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
  const lines = panels.map((panel, index) => JSON.stringify(panelOf(panel, index, chart)));
  return `${JSON.stringify(head).slice(0, -1)},"panels":[\n${lines.join(",\n")}\n]}\n`;
}

function panelOf(
  { title, about, unit, queries, type = "timeseries" }: Panel,
  index: number,
  chart: AlertChart,
): object {
  const perRow = columns / width;
  return {
    id: index + 1,
    type,
    title,
    description: about,
    gridPos: { x: (index % perRow) * width, y: Math.floor(index / perRow) * height, w: width, h: height },
    datasource: { type: "prometheus", uid: "${datasource}" },
    fieldConfig: { defaults: { unit }, overrides: [] },
    targets: queries.map(({ expression, legend }, at) => ({
      refId: String.fromCodePoint(65 + at),
      expr: queryOf(expression, chart),
      legendFormat: legend,
    })),
  };
}
