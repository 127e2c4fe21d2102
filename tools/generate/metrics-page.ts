/** Prints the page of all metrics, from their declarations. */
import { metrics as backend } from "@klutch/backend";
import { metrics as broker } from "@klutch/broker";
import { functionMetrics, managedMetrics } from "@klutch/crossplane";
import { metrics as gateway } from "@klutch/gateway";
import { metrics as konnector } from "@klutch/konnector";
import { metrics as provider } from "@klutch/provider-anynines";
import {
  clientMetrics,
  controllerMetrics,
  type MetricDeclaration,
  serverMetrics,
  traceMetrics,
} from "@klutch/telemetry";
import { filled, table } from "./page.ts";

const { brokerRequests, brokerRequestDuration, ...ofProvider } = provider;
const brokerClient = { brokerRequests, brokerRequestDuration };

/** Grouped by what they measure, and by name within a group. */
export const catalogue: readonly MetricDeclaration[] = [
  controllerMetrics,
  { ...clientMetrics, ...brokerClient },
  konnector,
  { ...backend, ...ofProvider },
  gateway,
  managedMetrics,
  { ...serverMetrics, ...traceMetrics, ...functionMetrics, ...broker },
].flatMap(byName);

function byName(group: Readonly<Record<string, MetricDeclaration>>): readonly MetricDeclaration[] {
  return Object.values(group).toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** Returns the page in Markdown. */
export function metricsPage(): string {
  const head = ["metric", "type", "labels", "what", "in"];
  return filled("tools/generate/metrics.md", { METRICS: table(head, catalogue.map(cellsOf)).join("\n") });
}

function cellsOf({ name, type, labels, help, notes, processes, ...bounded }: MetricDeclaration): string[] {
  const bounds: Readonly<Record<string, number | undefined>> = {
    ...bounded.mostValues,
    ...bounded.topValues,
  };
  const names = labels.map((label) => {
    const most = bounds[label];
    return `\`${label}\`${most === undefined ? "" : ` (at most ${most})`}`;
  });
  const what = notes === undefined ? help : `${help}. ${notes}`;
  return [`\`${name}\``, type, names.join(", "), what, processes.join(", ")];
}
