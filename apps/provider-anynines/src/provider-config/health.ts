/**
 * Reports of each ProviderConfig whether its backend answers: every three minutes; while it does not, after two seconds first and then ever more
 * rarely, down to every half minute; at once when its spec changed or people ask for it.
 *
 * | the backend     | before          | `status.health` | condition `Healthy`       | event       |
 * |-----------------|-----------------|-----------------|---------------------------|-------------|
 * | answers well    | not, or unknown | as it is        | True                      | Normal      |
 * | does not        | did, or unknown | as it is        | False, with why           | Warning     |
 * | as before       | the same        | as it is        | stays, with its time      | none        |
 */
import type { ProviderConfig } from "@klutch/api";
import { findCondition, refOf, type StandardCondition, wholeSeconds, withCondition } from "@klutch/kube-core";
import { type Clock, isConflict, isNotFound, type KubeClient, type Random } from "@klutch/kube";
import type { Informer, Reconcile } from "@klutch/kube-runtime";
import { pollDelayMs } from "../operations/pace.ts";
import { type Backends, checkBackend, type Verdict } from "./check.ts";

/** Told when a backend turned bad, and when it is good again. Must not throw. */
export type TellOfHealth = (config: ProviderConfig, verdict: Verdict) => void;

/** Dependencies of `createHealthReconcile`. */
export interface HealthOptions extends Backends {
  readonly client: Pick<KubeClient, "find" | "mergePatch">;
  /** The ProviderConfigs of one kind. */
  readonly informer: Pick<Informer<ProviderConfig>, "type" | "get">;
  readonly clock: Clock;
  readonly random: Random;
  readonly onHealth: TellOfHealth;
}

const healthyIntervalMs = 180_000;
/** Interval for a backend that turned bad before this process began. */
const unhealthyIntervalMs = 30_000;
/** It may just be starting, as the whole control plane after its installation. */
const firstRetryMs = 2_000;
/** Share by which a wait may be longer, so that backends that failed together are not asked together for ever. */
const spread = 0.2;
/** Tries of one status write; another component writes the same status. */
const writes = 5;

/** A spec with which the backend was bad in this process each time. */
interface BadSpell {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** Monotonic. */
  readonly since: number;
  /** From the last check to the next one. */
  readonly waitMs: number;
}

/** The reconcile function; keys are those of the informer. */
export function createHealthReconcile(options: HealthOptions): Reconcile {
  const { informer, clock, onHealth } = options;
  const bad = new Map<string, BadSpell>();
  return async (key, { signal, logger }) => {
    const config = informer.get(key);
    if (config === undefined) {
      bad.delete(key);
      return undefined;
    }
    const dueInMs = dueIn(config, bad.get(key), clock.now());
    if (dueInMs > 0) return { requeueAfterMs: dueInMs };
    const verdict = await checkBackend(options, config, { signal, clock });
    const { generation } = config.metadata;
    const spell = verdict.healthy ? undefined : continued(bad.get(key), config, options);
    if (spell === undefined) bad.delete(key);
    else bad.set(key, spell);
    const before = await writeHealth(options, { config, key, verdict, generation, signal });
    if (before !== undefined && before.status?.health?.lastStatus !== verdict.healthy) {
      logger.info("health of the backend changed", { healthy: verdict.healthy, reason: verdict.message });
      onHealth(before, verdict);
    }
    return { requeueAfterMs: spell?.waitMs ?? healthyIntervalMs };
  };
}

/**
 * The spell after one more bad answer. How long it lasts is not read from the condition, whose time is that of its message: a backend that says
 * something else each time would stay new.
 */
function continued(
  before: BadSpell | undefined,
  { metadata: { uid, generation } }: ProviderConfig,
  { clock, random }: Pick<HealthOptions, "clock" | "random">,
): BadSpell {
  const now = clock.monotonic();
  const isSame = before?.uid === uid && before?.generation === generation;
  const since = isSame ? (before?.since ?? now) : now;
  const waitMs = pollDelayMs(now - since, firstRetryMs) * (1 + spread * random());
  return { uid, generation, since, waitMs };
}

/** Milliseconds until the next check; 0 or less: now. */
function dueIn({ metadata, status }: ProviderConfig, bad: BadSpell | undefined, now: number): number {
  const { health, conditions } = status ?? {};
  const said = findCondition(conditions, type);
  if (said === undefined || said.observedGeneration !== metadata.generation) return 0;
  const intervalMs = health?.lastStatus === true ? healthyIntervalMs : (bad?.waitMs ?? unhealthyIntervalMs);
  const last = typeof health?.lastCheckTime === "string" ? Date.parse(health.lastCheckTime) : Number.NaN;
  // A time that is still to come was no check.
  return last <= now ? last + intervalMs - now : 0;
}

/** Returns the status to write after a check of the spec with this generation. */
function healthStatus(
  { status }: ProviderConfig,
  { healthy, reason, message }: Verdict,
  { generation, now }: { readonly generation: number | undefined; readonly now: number },
): ProviderConfig["status"] {
  const time = wholeSeconds(now);
  const condition: Omit<StandardCondition, "lastTransitionTime"> = {
    type,
    status: healthy ? "True" : "False",
    reason,
    ...(healthy ? {} : { message }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  return {
    health: { lastCheckTime: time, lastStatus: healthy, lastMessage: message },
    conditions: withCondition(status?.conditions, condition, time),
  };
}

const type = "Healthy";

interface Check {
  readonly config: ProviderConfig;
  readonly key: string;
  readonly verdict: Verdict;
  readonly generation: number | undefined;
  readonly signal: AbortSignal;
}

/** Gives back what it was written over; undefined: it is gone. The backend is not asked again because somebody else wrote meanwhile. */
async function writeHealth(
  { client, informer, clock }: HealthOptions,
  { config, key, verdict, generation, signal }: Check,
): Promise<ProviderConfig | undefined> {
  const ref = refOf(key);
  let current: ProviderConfig | undefined = config;
  for (let write = 1; current !== undefined && current.metadata.uid === config.metadata.uid; write++) {
    const { resourceVersion } = current.metadata;
    const status = healthStatus(current, verdict, { generation, now: clock.now() });
    const body = { metadata: { resourceVersion }, status };
    try {
      await client.mergePatch(informer.type, ref, body, { subresource: "status", signal });
      return current;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error) || write === writes) throw error;
    }
    current = await client.find<ProviderConfig>(informer.type, ref, { signal });
  }
  // Another ProviderConfig has this name by now, and was not checked.
  return undefined;
}
