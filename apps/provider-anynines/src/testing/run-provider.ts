/** Runs the provider in a test's own process. */
import { Manager, systemRuntime } from "@klutch/kube-runtime";
import { createMetrics, type Logger, silentLogger } from "@klutch/telemetry";
import { addProvider, type ProviderOptions } from "../provider.ts";

/** Without lease and probes, until the returned function is called; that resolves when everything has ended. */
export function runProvider({
  logger = silentLogger,
  ...options
}: Omit<ProviderOptions, "env"> & { readonly logger?: Logger | undefined }): () => Promise<void> {
  const abort = new AbortController();
  const manager = new Manager(systemRuntime({ logger, metrics: createMetrics() }));
  addProvider(manager, { env: {}, ...options });
  const running = manager.start({ signal: abort.signal });
  return async () => {
    abort.abort(new Error("stopping"));
    await running;
  };
}
