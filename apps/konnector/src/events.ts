/**
 * Events on claims, for the person who wrote them. Only what needs attention is told (waiting, refused, held): an event for every
 * ordinary step would be a write without a reason (DESIGN §4.5).
 */
import { events } from "@klutch/api";
import type { Clock, DynamicObject, KubeClient } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";

/** Tells people about an object. Never fails: an event that cannot be written is logged. */
export interface EventRecorder {
  tell(about: DynamicObject, type: "Normal" | "Warning", reason: string, message: string): Promise<void>;
}

/** The same thing is told again only after this. */
const silenceMs = 10 * 60_000;
const rememberedLimit = 5_000;

/** A recorder that writes to the app cluster. */
export function createEventRecorder(client: KubeClient, clock: Clock, logger: Logger): EventRecorder {
  const told = new Map<string, number>();
  return {
    async tell(about, type, reason, message) {
      const { namespace = "default", name = "", uid = "" } = about.metadata;
      const key = `${uid} ${reason} ${message}`;
      const now = clock.monotonic();
      if (now - (told.get(key) ?? Number.NEGATIVE_INFINITY) < silenceMs) return;
      if (told.size >= rememberedLimit) told.clear();
      told.set(key, now);
      const time = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
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
