/**
 * Events on claims, for the person who wrote them. What needs attention (waiting, refused, held) is always told; ordinary steps
 * (accepted, placed, synced) only as long as there are few: a burst of claims must not cost as many events (DESIGN §4.5).
 */
import { events, wholeSeconds } from "@klutch/api";
import type { Clock, DynamicObject, KubeClient } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";

/** Tells people about an object. Never fails: an event that cannot be written is logged. */
export interface EventRecorder {
  /** An ordinary step; left out when there are many. Does not wait. */
  note(about: DynamicObject, reason: string, message: string): void;
  tell(about: DynamicObject, type: "Normal" | "Warning", reason: string, message: string): Promise<void>;
}

/** The same thing is told again only after this. */
const silenceMs = 10 * 60_000;
const rememberedLimit = 5_000;
/** Ordinary steps: so many at once, and one more for each time that passes. */
const noteBurst = 20;
const noteEveryMs = 10_000;

/** A recorder that writes to the app cluster. */
export function createEventRecorder(client: KubeClient, clock: Clock, logger: Logger): EventRecorder {
  const told = new Map<string, number>();
  let notes = noteBurst;
  let refilledAt = clock.monotonic();
  const mayNote = (): boolean => {
    const earned = Math.floor((clock.monotonic() - refilledAt) / noteEveryMs);
    if (earned > 0) {
      notes = Math.min(noteBurst, notes + earned);
      refilledAt += earned * noteEveryMs;
    }
    return notes > 0 && notes-- > 0;
  };
  return {
    note(about, reason, message) {
      if (mayNote()) void this.tell(about, "Normal", reason, message);
    },
    async tell(about, type, reason, message) {
      const { namespace = "default", name = "", uid = "" } = about.metadata;
      const key = `${uid} ${reason} ${message}`;
      const now = clock.monotonic();
      if (now - (told.get(key) ?? Number.NEGATIVE_INFINITY) < silenceMs) return;
      if (told.size >= rememberedLimit) told.clear();
      told.set(key, now);
      const time = wholeSeconds(clock.now());
      const event: DynamicObject = {
        apiVersion: "v1",
        kind: "Event",
        metadata: { namespace, generateName: `${name.slice(0, 200)}.` },
        involvedObject: { apiVersion: about.apiVersion, kind: about.kind, namespace, name, uid },
        type,
        reason,
        message: message.slice(0, 1024),
        firstTimestamp: time,
        lastTimestamp: time,
        count: 1,
        source: { component: "konnector" },
      };
      try {
        await client.create(events, event);
      } catch (error) {
        logger.debug("the event could not be written", { namespace, name, reason, error });
      }
    },
  };
}
