/** Prints the page of all metrics, from their declarations. */
import { metrics as backend } from "@klutch/backend";
import { metrics as broker } from "@klutch/broker";
import { functionMetrics } from "@klutch/crossplane";
import { metrics as konnector } from "@klutch/konnector";
import { metrics as provider } from "@klutch/provider-anynines";
import { clientMetrics, controllerMetrics, type MetricDeclaration, serverMetrics } from "@klutch/telemetry";
import { table } from "./table.ts";

const { vanishedInstances, ...brokerClient } = provider;

/** Grouped by what they measure, and by name within a group. */
export const catalogue: readonly MetricDeclaration[] = [
  controllerMetrics,
  { ...clientMetrics, ...brokerClient },
  konnector,
  { ...backend, vanishedInstances },
  { ...serverMetrics, ...functionMetrics, ...broker },
].flatMap(byName);

function byName(group: Readonly<Record<string, MetricDeclaration>>): readonly MetricDeclaration[] {
  return Object.values(group).toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

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

/** Returns the page in Markdown. */
export function metricsPage(): string {
  const head = ["metric", "type", "labels", "what", "in"];
  return [intro, "## Our own", ...table(head, catalogue.map(cellsOf)), ofProcess].join("\n");
}

function cellsOf({ name, type, labels, mostValues, help, notes, processes }: MetricDeclaration): string[] {
  const bounds: Readonly<Record<string, number | undefined>> = mostValues ?? {};
  const names = labels.map((label) => {
    const most = bounds[label];
    return `\`${label}\`${most === undefined ? "" : ` (at most ${most})`}`;
  });
  const what = notes === undefined ? help : `${help}. ${notes}`;
  return [`\`${name}\``, type, names.join(", "), what, processes.join(", ")];
}
