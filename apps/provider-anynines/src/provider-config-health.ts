/** Reports for each ProviderConfig whether its backend answers. Every three minutes, or half a minute while it does not. */
import type { ProviderConfig } from "@klutch/api";
import { keyOf, refOf, wholeSeconds } from "@klutch/kube-core";
import type { Clock, KubeClient } from "@klutch/kube";
import type { Informer, Reconcile } from "@klutch/kube-runtime";
import type { Managers } from "./backup-manager/managers.ts";
import { brokerText } from "./broker/broker-error.ts";
import type { Brokers } from "./broker/brokers.ts";

const healthyIntervalMs = 180_000;
const unhealthyIntervalMs = 30_000;

/** Who is asked. */
interface Backends {
  readonly brokers: Pick<Brokers, "get">;
  readonly managers: Pick<Managers, "get">;
}

/** The reconcile function; keys are those of the informer. */
export function createHealthReconcile(
  parts: Backends & {
    readonly client: KubeClient;
    readonly informer: Informer<ProviderConfig>;
    readonly clock: Clock;
  },
): Reconcile {
  const { client, informer, clock } = parts;
  return async (key, { signal, logger }) => {
    const config = informer.get(key);
    if (config === undefined) return undefined;
    const { health } = config.status ?? {};
    const intervalMs = health?.lastStatus === true ? healthyIntervalMs : unhealthyIntervalMs;
    const last = typeof health?.lastCheckTime === "string" ? Date.parse(health.lastCheckTime) : 0;
    const dueInMs = last + intervalMs - clock.now();
    if (dueInMs > 0) return { requeueAfterMs: dueInMs };
    const message = await healthOf(parts, config, signal);
    const lastStatus = message === "Available";
    if (lastStatus !== health?.lastStatus)
      logger.info("health of the backend changed", { healthy: lastStatus, reason: message });
    const lastCheckTime = wholeSeconds(clock.now());
    const status = { health: { lastCheckTime, lastStatus, lastMessage: message } };
    await client.mergePatch(informer.type, refOf(key), { status }, { subresource: "status", signal });
    return { requeueAfterMs: lastStatus ? healthyIntervalMs : unhealthyIntervalMs };
  };
}

/** "Available", or what went wrong. */
async function healthOf(backends: Backends, config: ProviderConfig, signal: AbortSignal): Promise<string> {
  try {
    if (config.spec.serviceType === "backupmanager") await checkManager(backends, config, signal);
    else await checkBroker(backends, config, signal);
    return "Available";
  } catch (error) {
    return brokerText(error instanceof Error ? error.message : String(error));
  }
}

async function checkBroker(
  { brokers }: Backends,
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<void> {
  const broker = await brokers.get(keyOf(config), { signal });
  const endpoint = config.spec.healthCheckEndpoint;
  if (endpoint === undefined || endpoint === "") await broker.catalog({ signal });
  else await broker.osb.checkHealth(endpoint, { signal });
}

async function checkManager(
  { managers }: Backends,
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<void> {
  const manager = await managers.get(keyOf(config), { signal });
  // An empty endpoint is none.
  await manager.checkHealth(config.spec.healthCheckEndpoint || undefined, { signal });
}
