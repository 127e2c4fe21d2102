/**
 * Remembers when each heartbeat was seen here, and judges silence by that: the clock of an app cluster may be wrong by more than a heartbeat
 * takes. What an earlier process saw is in the condition `Healthy`. A heartbeat that changes nothing else wakes no one (designs/0015).
 */
import type { ClusterBinding } from "@klutch/api";
import {
  falseCondition,
  isTrue,
  jsonEqual,
  type NewCondition,
  parseDuration,
  trueCondition,
} from "@klutch/kube-core";
import type { Change } from "@klutch/kube-runtime";

/** Verdict about one agent, and when to judge again, because silence causes no event. */
export interface Health {
  readonly condition: NewCondition;
  readonly requeueMs: number;
}

interface Sighting {
  readonly text: string | undefined;
  /** Milliseconds since the epoch, by the clock of this process. */
  readonly heardAt: number;
}

/** Time after which a binding that is silent is looked at again. */
export const silentRequeueMs = 60_000;

/** A heartbeat whose own time is older than this is not news, such as one of a restored backup. */
const longestSkewMs = 3_600_000;

/** Keys are those of ClusterBindings. */
export class Heartbeats {
  readonly #clock: { now(): number };
  readonly #seen = new Map<string, Sighting>();

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  /** Notes the heartbeat that the change brings, and returns the keys to reconcile. */
  keysFor(change: Change<ClusterBinding>): readonly string[] {
    const { type, key, object } = change;
    if (type === "deleted") {
      this.#seen.delete(key);
      return [key];
    }
    this.#see(key, object);
    return type === "updated" && isHeartbeatOnly(change.previous, object) ? [] : [key];
  }

  /** Judges the agent at the present time. */
  judge(key: string, binding: ClusterBinding): Health {
    return healthOf(binding, this.#clock.now(), this.#see(key, binding).heardAt);
  }

  #see(key: string, { status }: ClusterBinding): Sighting {
    const text = status?.lastHeartbeatTime;
    const known = this.#seen.get(key);
    if (known !== undefined && known.text === text) return known;
    const now = this.#clock.now();
    const said = Date.parse(text ?? "");
    const isNews = known !== undefined || isTrue(status?.conditions, "Healthy");
    const sighting = { text, heardAt: isNews && said >= now - longestSkewMs ? now : said };
    this.#seen.set(key, sighting);
    return sighting;
  }
}

/** Returns true if the agent is known to live, and only says so again, or its canary flew. */
function isHeartbeatOnly(previous: ClusterBinding, object: ClusterBinding): boolean {
  if (!isTrue(object.status?.conditions, "Healthy")) return false;
  return jsonEqual(withoutHeartbeat(previous), withoutHeartbeat(object));
}

function withoutHeartbeat({ metadata, spec, status }: ClusterBinding): unknown {
  const { resourceVersion: _version, managedFields: _fields, ...kept } = metadata;
  const { lastHeartbeatTime: _time, canary: _canary, ...said } = status ?? {};
  return { metadata: kept, spec, status: said };
}

/** Judges whether the agent reports as often as it promised. `heardAt`: default the time of the heartbeat, by the clock of the app cluster. */
export function healthOf(
  { status = {} }: ClusterBinding,
  now: number,
  heardAt: number = Date.parse(status.lastHeartbeatTime ?? ""),
): Health {
  const { lastHeartbeatTime, heartbeatInterval } = status;
  const notHealthy = (reason: string, severity: "Info" | "Error", message: string): NewCondition =>
    falseCondition("Healthy", reason, severity, message);
  if (lastHeartbeatTime === undefined) {
    const message = "Waiting for the first heartbeat of the konnector";
    return {
      condition: notHealthy("FirstHeartbeatPending", "Info", message),
      requeueMs: silentRequeueMs,
    };
  }
  const intervalMs = heartbeatInterval === undefined ? undefined : parseDuration(heartbeatInterval);
  if (intervalMs === undefined) {
    const message = "The konnector has not set status.heartbeatInterval";
    return {
      condition: notHealthy("HeartbeatIntervalMissing", "Info", message),
      requeueMs: silentRequeueMs,
    };
  }
  const silentMs = now - heardAt;
  if (silentMs > 2 * intervalMs) {
    const message =
      `No heartbeat of the konnector since ${lastHeartbeatTime}. Its access was not revoked here: the app cluster or its konnector is away, ` +
      "or cannot reach this cluster. Nothing is deleted because of it";
    return { condition: notHealthy("HeartbeatTimeout", "Error", message), requeueMs: silentRequeueMs };
  }
  return { condition: trueCondition("Healthy"), requeueMs: 2 * intervalMs - silentMs + 1_000 };
}
