/** Runs a backend's caches and controllers in a test. */
import { Manager, systemRuntime } from "@klutch/kube-runtime";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import type { Backend } from "../backend.ts";

/** Without lease and probes; ends with the signal. */
export function runBackend(backend: Backend, signal: AbortSignal): Promise<void> {
  const manager = new Manager(systemRuntime({ logger: silentLogger, metrics: createMetrics() }));
  manager.add(...backend.parts);
  return manager.start({ signal });
}
