/** Starts the tracer of a process, if its environment asks for one. */
import type { TracerParts } from "./open-telemetry.ts";
import type { Tracer } from "./scope.ts";

/** Loads the SDK and creates the tracer. */
export async function startTracing(parts: TracerParts): Promise<Tracer> {
  const { createOpenTelemetryTracer } = await import("./open-telemetry.ts");
  const { config, logger } = parts;
  logger.info("traces are on", { endpoint: config.shownUrl, samplingRatio: config.sampler.ratio });
  return createOpenTelemetryTracer(parts);
}
