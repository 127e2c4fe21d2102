/** The page of all metrics, from their declarations. */
import type { MetricDeclaration } from "@klutch/telemetry";
import { catalogue } from "./metrics-catalogue.ts";

const intro = `# Metrics

Every server answers \`/metrics\` in Prometheus' text format, on the port of its probes. Controllers, queues and clients of API servers have the
names and labels of controller-runtime and client-go, so that dashboards and alerts for them fit. No label holds the name of an object that
a user made. Labels whose values come from outside have a bound: so many different values are shown, all others together as \`other\`.

| program | where |
|---|---|
| konnector | \`--probe-host\`, \`--probe-port\` (8080) |
| backend | host of \`--listen-address\`, \`--probe-port\` (8081) |
| provider-anynines, function-klutch | \`--health-probe-bind-address\` (:8080, where Crossplane tells Prometheus to look) |
| broker | \`--health-probe-bind-address\` or \`BROKER_PROBE_LISTEN\` (127.0.0.1, a free port) |
`;

const ofProcess = `## Of the process
\`process_*\` and \`nodejs_*\` are those of the usual client library for Node.js (prom-client), in every server. Most useful are
\`process_resident_memory_bytes\`, \`process_cpu_seconds_total\`, \`nodejs_eventloop_lag_p99_seconds\` and \`nodejs_gc_duration_seconds\`.
`;

/** Markdown. */
export function metricsPage(): string {
  return [
    intro,
    "## Our own",
    "| metric | type | labels | what | in |",
    "|---|---|---|---|---|",
    ...catalogue.map(rowOf),
    "",
    ofProcess,
  ].join("\n");
}

function rowOf({ name, type, labels, mostValues, help, notes, processes }: MetricDeclaration): string {
  const bounds: Readonly<Record<string, number | undefined>> = mostValues ?? {};
  const names = labels.map((label) => {
    const most = bounds[label];
    return `\`${label}\`${most === undefined ? "" : ` (at most ${most})`}`;
  });
  const what = notes === undefined ? help : `${help}. ${notes}`;
  return `| \`${name}\` | ${type} | ${names.join(", ")} | ${cell(what)} | ${processes.join(", ")} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
