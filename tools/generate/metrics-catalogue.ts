/** All metrics of our programs, in the order of docs/reference/metrics.md. */
import { metrics as backend } from "@klutch/backend";
import { metrics as broker } from "@klutch/broker";
import { functionMetrics } from "@klutch/crossplane";
import { metrics as konnector } from "@klutch/konnector";
import { metrics as provider } from "@klutch/provider-anynines";
import { clientMetrics, controllerMetrics, type MetricDeclaration, serverMetrics } from "@klutch/telemetry";

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
