/** The objective of the canary (designs/0031): its recording rules, and alerts on the rate at which its error budget burns. */
import type { Alert, AlertChart } from "./alert.ts";

/** A recording rule. */
export interface Recording {
  readonly name: string;
  readonly chart: AlertChart;
  /** As in `Alert`. */
  readonly expression: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Windows of the multiwindow alerts; each is recorded once. */
const windows = ["5m", "30m", "1h", "2h", "6h", "1d", "3d"] as const;
type Window = (typeof windows)[number];

/** Labels that Sloth and its dashboards use. */
export const objectiveLabels = {
  sloth_service: "klutch",
  sloth_slo: "canary",
  sloth_id: "klutch-canary",
} as const;

/** Name of the error ratio in a window, as in Sloth. */
const ratio = (window: Window): string => `slo:sli_error:ratio_rate${window}`;

const probes = (outcome: string, window: Window): string =>
  `sum(rate(klutch_canary_probes_total{$jobs,${outcome}}[${window}]))`;

/** Name of the part that may fail, as in Sloth. */
const budget = "slo:error_budget:ratio";

/** The part of probes that failed, in each window. A control plane without a canary has no ratio. */
const ratios: readonly Recording[] = windows.map((window) => ({
  name: ratio(window),
  chart: "klutch-konnector",
  expression: `${probes('outcome=~"late|lost|refused|unreachable"', window)} / ${probes('outcome!="unsupported"', window)}`,
  labels: objectiveLabels,
}));

/** All of them. The budget is recorded for dashboards, which do not know the chart's values. */
export const recordings: readonly Recording[] = [
  ...ratios,
  {
    name: budget,
    chart: "klutch-konnector",
    expression: "vector($badPerThousand / 1000)",
    labels: objectiveLabels,
  },
];

/** Holds if the budget burns this much faster than it lasts for 30 days, in both windows. */
const burns = (rate: number, long: Window, short: Window): string => {
  const limit = `${rate} * $badPerThousand / 1000`;
  const over = (window: Window): string =>
    `${ratio(window)}{sloth_slo="${objectiveLabels.sloth_slo}"} > ${limit}`;
  return `(${over(long)} and ${over(short)})`;
};

/** Windows and rates of the SRE workbook, chapter 5. */
export const objectiveAlerts: readonly Alert[] = [
  {
    name: "KlutchErrorBudgetBurnsFast",
    charts: ["klutch-konnector"],
    severity: "critical",
    forMinutes: 1,
    expression: `${burns(14.4, "1h", "5m")} or ${burns(6, "6h", "30m")}`,
    summary: "{{ $value | humanizePercentage }} of probes do not come back from the control plane in time.",
  },
  {
    name: "KlutchErrorBudgetBurns",
    charts: ["klutch-konnector"],
    severity: "warning",
    forMinutes: 15,
    expression: `${burns(3, "1d", "2h")} or ${burns(1, "3d", "6h")}`,
    summary:
      "{{ $value | humanizePercentage }} of probes did not come back from the control plane in time for days.",
  },
];
