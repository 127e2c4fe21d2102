/** Prints alerts as rules of Prometheus, for the documentation and for Helm. */
import { formatYaml } from "@klutch/kube";
import { type Alert, type AlertChart, alerts, jobsOf, thresholds } from "./alerts.ts";
import { type Recording, recordings } from "./objectives.ts";

/** A recording rule as Prometheus reads it. */
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** An alert as Prometheus reads it. */
export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A group of rules. */
export interface RuleGroup {
  readonly name: string;
  /** Recorded series come first: alerts of the same evaluation read them. */
  readonly rules: readonly (RecordingRule | Rule)[];
}

/** Options of `ruleGroup`. */
export interface RuleOptions {
  /** Returns the text of a threshold. Default: the number that the chart has by default. */
  readonly threshold?: ((name: string) => string) | undefined;
}

/** The page with a heading for each alert, by default; the name is reserved, and the value `prometheusRule.runbookUrl` names another. */
const runbookPage = "https://docs.klutch.example/troubleshooting.html";

/** Returns the anchor of an alert's heading. */
export function anchorOf({ name }: Pick<Alert, "name">): string {
  return name.toLowerCase();
}

/** Returns the alerts that a chart ships. */
export function alertsOf(chart: AlertChart): readonly Alert[] {
  return alerts.filter(({ charts }) => charts.includes(chart));
}

/** Returns the recording rules that a chart ships. */
export function recordingRules(chart: AlertChart, options: RuleOptions = {}): readonly RecordingRule[] {
  const own = recordings.filter((each) => each.chart === chart);
  return own.map(({ name, expression, labels }) => ({
    record: name,
    expr: exprOf({ name, expression }, chart, options),
    labels,
  }));
}

/** Returns the alerts of a chart as rules. */
export function alertRules(chart: AlertChart, options: RuleOptions = {}): readonly Rule[] {
  return alertsOf(chart).map((alert) => ruleOf(alert, chart, options));
}

/** Returns the group of a chart's rules. */
export function ruleGroup(chart: AlertChart, options: RuleOptions = {}): RuleGroup {
  return { name: chart, rules: [...recordingRules(chart, options), ...alertRules(chart, options)] };
}

function exprOf(
  { name, expression }: Pick<Alert | Recording, "name" | "expression">,
  chart: AlertChart,
  { threshold = numberOf }: RuleOptions,
): string {
  return expression.replaceAll(/\$(\w+)/g, (_, word: string) =>
    word === "jobs" ? `job=~"${jobsOf[chart]}"` : threshold(checked(word, name)),
  );
}

function ruleOf(alert: Alert, chart: AlertChart, options: RuleOptions): Rule {
  const { name, forMinutes, severity, summary } = alert;
  const expr = exprOf(alert, chart, options);
  return {
    alert: name,
    expr,
    for: `${forMinutes}m`,
    labels: { severity },
    annotations: { summary, runbook_url: `${runbookPage}#${anchorOf(alert)}` },
  };
}

function checked(word: string, alert: string): string {
  if (thresholds[word] === undefined) throw new Error(`${alert} uses $${word}, which is no threshold`);
  return word;
}

function numberOf(name: string): string {
  return String(thresholds[name]?.default);
}

/** Returns the groups as a rules file of a Prometheus without its operator, and as the spec of PrometheusRules. */
export function rulesFile(options: RuleOptions = {}): { readonly groups: readonly RuleGroup[] } {
  return { groups: [ruleGroup("klutch", options), ruleGroup("klutch-konnector", options)] };
}

/** Quotes the link, for its page may be any text. */
function linked(anchor: string): string {
  return `{{ printf "%s#${anchor}" .Values.prometheusRule.runbookUrl | quote }}`;
}

/** Returns the YAML of a chart's rules for its template: thresholds are values, and Prometheus' own templates stay as they are. */
export function chartRules(chart: AlertChart): string {
  const mark = (name: string): string => `%${name}%`;
  const yaml = formatYaml({ groups: [ruleGroup(chart, { threshold: mark })] })
    .replaceAll("{{", '{{ "{{" }}')
    .split(`${runbookPage}#`)
    .map((text, index) => (index === 0 ? text : text.replace(/^\w+/, linked)))
    .join("");
  return Object.entries(thresholds).reduce(
    (text, [name, { value }]) => text.replaceAll(mark(name), `{{ int .Values.prometheusRule.${value} }}`),
    yaml,
  );
}
