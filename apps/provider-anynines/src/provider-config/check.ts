/** Asks the backend of a ProviderConfig how it is, and makes one word and one sentence of what comes of it. Nothing that it says is a secret. */
import type { ProviderConfig } from "@klutch/api";
import { BackupManagerError, BackupManagerTransportError } from "@klutch/backup-manager";
import { ApiError, type Clock, isForbidden, TransportError } from "@klutch/kube";
import { keyOf } from "@klutch/kube-core";
import { OsbError, OsbTransportError } from "@klutch/osb";
import type { Managers } from "../backup-manager/managers.ts";
import { brokerText, reasonOfAnswer, reasonWithoutAnswer } from "../operations/answers.ts";
import type { Brokers } from "../broker/brokers.ts";

/** The backend that is asked. */
export interface Backends {
  readonly brokers: Pick<Brokers, "get">;
  readonly managers: Pick<Managers, "get">;
}

/** The health of a backend. */
export interface Verdict {
  readonly healthy: boolean;
  /** One word in upper camel case. */
  readonly reason: string;
  /** One line, bounded. Of a healthy one `Available`. */
  readonly message: string;
}

/** A backend that does not answer this long is not well, whatever a call to it may take. */
const deadlineMs = 10_000;
/** The backend does not take the credentials. */
const refusals: readonly number[] = [401, 403];
const busyStatuses: readonly number[] = [409, 423, 429];

/** Throws when it is this cluster that does not answer, and the signal's reason. */
export async function checkBackend(
  backends: Backends,
  config: ProviderConfig,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Pick<Clock, "schedule"> },
): Promise<Verdict> {
  const deadline = new AbortController();
  const cancel = clock.schedule(deadlineMs, () => deadline.abort(new Error("it took too long")));
  try {
    await ask(backends, config, AbortSignal.any([signal, deadline.signal]));
    return { healthy: true, reason: "Available", message: "Available" };
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.signal.aborted)
      return {
        healthy: false,
        reason: "BrokerUnreachable",
        message: `no answer within ${deadlineMs / 1000} s`,
      };
    if (isOfThisCluster(error)) throw error;
    return { healthy: false, ...described(error) };
  } finally {
    cancel();
  }
}

async function ask(
  { brokers, managers }: Backends,
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<void> {
  // An empty endpoint is none.
  const endpoint = config.spec.healthCheckEndpoint || undefined;
  if (config.spec.serviceType === "backupmanager") {
    const manager = await managers.get(keyOf(config), { signal });
    return manager.checkHealth(endpoint, { signal });
  }
  const { osb } = await brokers.get(keyOf(config), { signal });
  if (endpoint !== undefined) return osb.checkHealth(endpoint, { signal });
  // Not the one from memory: the question is whether the broker answers now.
  await osb.catalog({ signal });
}

/** The API server that has the Secrets. That it forbids to read one is about the ProviderConfig. */
function isOfThisCluster(error: unknown): boolean {
  return error instanceof TransportError || (error instanceof ApiError && !isForbidden(error));
}

function described(error: unknown): Pick<Verdict, "reason" | "message"> {
  const said = brokerText(error instanceof Error ? error.message : String(error));
  if (error instanceof OsbError || error instanceof BackupManagerError) {
    const { status } = error;
    const answer = { status, isBusy: busyStatuses.includes(status), isRefusal: false };
    const message = said.includes(`HTTP ${status}`) ? said : `HTTP ${status}: ${said}`;
    const reason = refusals.includes(status) ? "LoginRefused" : reasonOfAnswer(answer, "question");
    return { reason: reason ?? "Unhealthy", message };
  }
  if (error instanceof OsbTransportError || error instanceof BackupManagerTransportError) {
    if (error.code === "NotSent") return { reason: "Misconfigured", message: said };
    const login = error.code === "Login" ? "LoginRefused" : undefined;
    return { reason: login ?? reasonWithoutAnswer(error.code) ?? "Unhealthy", message: said };
  }
  return { reason: "Misconfigured", message: said };
}
