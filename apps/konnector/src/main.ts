/** The konnector as a process. */
import { randomUUID } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { inClusterConfig, loadKubeconfig } from "@klutch/kube";
import { Manager, stopOnSignals, systemRuntime } from "@klutch/kube-runtime";
import { createLogger, createMetrics } from "@klutch/telemetry";
import { type KonnectorConfig, parseConfig } from "./config.ts";
import { ConfigError } from "./errors.ts";
import { addAgent, connectKonnector } from "./konnector.ts";
import { collectGarbage, tidyWhenQuiet } from "./tidy.ts";

// The young generation is small: one thread collects it with less CPU time than several (bench/RESULTS.md). NODE_OPTIONS has no word for it.
setFlagsFromString("--no-parallel-scavenge");

async function main(): Promise<number> {
  let config: KonnectorConfig;
  try {
    config = parseConfig({ args: process.argv.slice(2), env: process.env, randomName: randomUUID });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.faults.join("\n")}\n`);
    return 2;
  }
  const logger = createLogger({ name: "konnector", level: config.logLevel });
  const runtime = systemRuntime({ logger, metrics: createMetrics({ processMetrics: true }) });
  const signal = stopOnSignals(process, logger);
  try {
    const isOutside = config.kubeconfig !== undefined || process.env["KUBECONFIG"] !== undefined;
    const cluster = isOutside
      ? await loadKubeconfig({ path: config.kubeconfig })
      : await inClusterConfig(process.env);
    const connection = connectKonnector({ ...runtime, config, cluster });
    const probes = { host: config.probeHost, port: config.probePort };
    const manager = new Manager({ ...runtime, connection, probes });
    const { looks } = addAgent(manager, { config, connection });
    manager.add({
      name: "memory",
      runs: "process",
      start: (options) =>
        tidyWhenQuiet({ clock: runtime.clock, looks, collect: collectGarbage }, options.signal),
    });
    await manager.start({ signal });
    return 0;
  } catch (error) {
    logger.error("the konnector stopped", { error });
    return 1;
  }
}

process.exitCode = await main();
