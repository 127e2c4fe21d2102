/** Types of the dashboards, and queries of a form that several panels have. */
import type { AlertChart } from "../alerts/alert.ts";

/** One line or group of lines of a panel. */
export interface Query {
  /** PromQL. `$jobs` is as in alerts, and `$window` stands for the window that Grafana thinks fit for a rate. */
  readonly expression: string;
  /** Grafana's `{{label}}` stands for a label. */
  readonly legend: string;
}

/** A colour, and the value from which it holds; the first one has none and holds below all others. */
export interface Threshold {
  readonly color: "red" | "orange" | "green";
  readonly from?: number;
}

/** One panel. */
export interface Panel {
  readonly title: string;
  /** One sentence: what a person learns from it. */
  readonly about: string;
  /** Grafana's name: `cpm` counts by the minute, `ops` and `wps` operations and writes by the second. */
  readonly unit: "short" | "s" | "reqps" | "ops" | "wps" | "cpm" | "percentunit" | "bytes" | "none";
  readonly queries: readonly Query[];
  /** Thirds of a row that it takes; a wide one lists its series in a table. Default 1. */
  readonly thirds?: 1 | 2 | 3;
  /** Makes it the latest value in a colour, instead of lines over time. Grafana's own default would paint a 0 green. */
  readonly thresholds?: readonly Threshold[];
  /** Default false. */
  readonly canBeNegative?: boolean;
}

/** Panels under one heading. */
export interface Section {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** One dashboard. */
export interface Dashboard {
  readonly chart: AlertChart;
  /** Name of its file and end of its ConfigMap's name. */
  readonly name: string;
  readonly title: string;
  /** In the order of what tells first whether all is well. */
  readonly sections: readonly Section[];
}

/** Returns a panel's only query. */
export const one = (expression: string, legend: string): readonly Query[] => [{ expression, legend }];

/** Median and slowest of a hundred. */
export const quantiles = (metric: string, by = "", window = "$window"): readonly Query[] => {
  const labels = ["le", ...(by === "" ? [] : [by])].join(", ");
  const legend = by === "" ? "" : ` {{${by}}}`;
  return [0.5, 0.99].map((quantile) => ({
    expression: `histogram_quantile(${quantile}, sum by (${labels}) (rate(${metric}_bucket[${window}])))`,
    legend: `p${quantile * 100}${legend}`,
  }));
};
