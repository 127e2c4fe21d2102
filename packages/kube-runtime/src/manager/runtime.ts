/** Dependencies of every part of a process. */
import { type Clock, type Random, systemClock, systemRandom } from "@klutch/kube";
import type { Logger, Metrics } from "@klutch/telemetry";

/** Where a part writes its log and counts, and how it knows time and chance. */
export interface Runtime {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
}

/** With the machine's own clock and generator: the one place that chooses them. */
export function systemRuntime(parts: Pick<Runtime, "logger" | "metrics">): Runtime {
  return { ...parts, clock: systemClock, random: systemRandom };
}
