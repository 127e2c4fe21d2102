/** Prints alerts as rules of Prometheus, for the documentation and for Helm. */
import { formatYaml } from "@klutch/kube";
import { type Alert, type AlertChart, alerts, jobsOf, thresholds } from "./alerts.ts";

/** A rule as Prometheus reads it. */
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
  readonly rules: readonly Rule[];
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

/** Returns the group of a chart's alerts. */
export function ruleGroup(chart: AlertChart, options: RuleOptions = {}): RuleGroup {
  return { name: chart, rules: alertsOf(chart).map((alert) => ruleOf(alert, chart, options)) };
}

function ruleOf(alert: Alert, chart: AlertChart, { threshold = numberOf }: RuleOptions): Rule {
  const { name, expression, forMinutes, severity, summary } = alert;
  const expr = expression.replaceAll(/\$(\w+)/g, (_, word: string) =>
    word === "jobs" ? `job=~"${jobsOf[chart]}"` : threshold(checked(word, name)),
  );
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
