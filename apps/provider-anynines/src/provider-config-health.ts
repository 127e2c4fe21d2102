/** Reports for each ProviderConfig whether its backend answers. Every three minutes, or half a minute while it does not. */
import { type ProviderConfig, providerConfigs } from "@klutch/api";
import { wholeSeconds } from "@klutch/kube-core";
import type { Clock, KubeClient } from "@klutch/kube";
import type { Informer, Reconcile } from "@klutch/kube-runtime";
import { brokerText } from "./broker/broker-error.ts";
import type { Brokers } from "./broker/brokers.ts";

const healthyIntervalMs = 180_000;
const unhealthyIntervalMs = 30_000;

/** The reconcile function; keys are names of ProviderConfigs. */
export function createHealthReconcile(parts: {
  readonly client: KubeClient;
  readonly informer: Informer<ProviderConfig>;
  readonly brokers: Brokers;
  readonly clock: Clock;
}): Reconcile {
  const { client, informer, brokers, clock } = parts;
  return async (key, { signal, logger }) => {
    const config = informer.get(key);
    // Backup managers have no client yet.
    if (config === undefined || config.spec.serviceType !== "servicebroker") return undefined;
    const { health } = config.status ?? {};
    const intervalMs = health?.lastStatus === true ? healthyIntervalMs : unhealthyIntervalMs;
    const last = typeof health?.lastCheckTime === "string" ? Date.parse(health.lastCheckTime) : 0;
    const dueInMs = last + intervalMs - clock.now();
    if (dueInMs > 0) return { requeueAfterMs: dueInMs };
    const message = await check(brokers, config, signal);
    const lastStatus = message === "Available";
    if (lastStatus !== health?.lastStatus)
      logger.info("health of the backend changed", { healthy: lastStatus, reason: message });
    const lastCheckTime = wholeSeconds(clock.now());
    const status = { health: { lastCheckTime, lastStatus, lastMessage: message } };
    await client.mergePatch(providerConfigs, { name: key }, { status }, { subresource: "status", signal });
    return { requeueAfterMs: lastStatus ? healthyIntervalMs : unhealthyIntervalMs };
  };
}

async function check(brokers: Brokers, config: ProviderConfig, signal: AbortSignal): Promise<string> {
  try {
    const broker = await brokers.get(config.metadata.name ?? "", { signal });
    const endpoint = config.spec.healthCheckEndpoint;
    if (endpoint === undefined || endpoint === "") await broker.catalog({ signal });
    else await broker.osb.checkHealth(endpoint, { signal });
    return "Available";
  } catch (error) {
    return brokerText(error instanceof Error ? error.message : String(error));
  }
}
