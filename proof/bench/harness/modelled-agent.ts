/** The real agent in this process for an app cluster that is a model: what it does to a real control plane is the agent's own part. */
import { consumerNamespace } from "@klutch/api";
import { runAgent } from "@klutch/konnector";
import { createKubeClient } from "@klutch/kube";
import { systemRuntime } from "@klutch/kube-runtime";
import type { ApiServerModel } from "@klutch/kube-testing";
import { createLogger, createMetrics } from "@klutch/telemetry";

const modelServer = "https://app-cluster.invalid";

/** Options of `keepAgent`. */
export interface KeptAgentOptions {
  /** Names the app cluster and the holder of its lease. */
  readonly name: string;
  /** Ends the agent, which gives its lease back. */
  readonly signal: AbortSignal;
  /** Called when the agent, or a part of it, ended by itself. */
  readonly onRestart: () => void;
}

/** Runs the agent until the signal aborts, and starts it again when it ends before, as a kubelet would. */
export async function keepAgent(
  model: ApiServerModel,
  { name, signal, onRestart }: KeptAgentOptions,
): Promise<void> {
  const write = (line: string): void => void (line.includes("starting it again") && onRestart());
  const logger = createLogger({ name, level: "error", write });
  while (!signal.aborted) {
    const running = runAgent({
      config: {
        leaseName: consumerNamespace,
        leaseNamespace: consumerNamespace,
        identity: name,
        installCrd: true,
        timing: {},
        controlPlane: undefined,
      },
      cluster: { name, server: modelServer, auth: { kind: "none" } },
      ...systemRuntime({ logger, metrics: createMetrics() }),
      signal,
      createClient: (config, clientOptions) =>
        config.server === modelServer
          ? model.client({ clusterName: name, writeGuard: clientOptions?.writeGuard })
          : createKubeClient(config, clientOptions),
    });
    await running.catch((error: unknown) => {
      if (!signal.aborted) console.error(`${name}: ${String(error)}`);
    });
    if (!signal.aborted) onRestart();
  }
}
