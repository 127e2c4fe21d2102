/** Dependencies of every part of a process. */
import { type Clock, type Random, systemClock, systemRandom } from "@klutch/kube";
import type { Logger, Metrics, Tracer } from "@klutch/telemetry";

/** The logger, metrics, clock and randomness of a component. */
export interface Runtime {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: no traces. */
  readonly tracer?: Tracer | undefined;
}

/** With the machine's own clock and generator: the one place that chooses them. */
export function systemRuntime(parts: Pick<Runtime, "logger" | "metrics" | "tracer">): Runtime {
  return { ...parts, clock: systemClock, random: systemRandom };
}
