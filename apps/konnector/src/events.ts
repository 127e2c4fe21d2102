/**
 * Events on claims, for the person who wrote them. What needs attention (waiting, refused, held) is always told; ordinary steps
 * (accepted, placed, synced) only as long as there are few: a burst of claims must not cost as many events.
 */
import { plainText } from "@klutch/api";
import { type DynamicObject, events, wholeSeconds } from "@klutch/kube-core";
import { type Clock, type KubeClient } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import { TokenBucket } from "./token-bucket.ts";

/** Tells people about an object. Never fails: an event that cannot be written is logged. */
export interface EventRecorder {
  /** An ordinary step; left out when there are many. Does not wait. */
  note(about: DynamicObject, reason: string, message: string): void;
  tell(about: DynamicObject, type: "Normal" | "Warning", reason: string, message: string): Promise<void>;
  /** A Warning that the provider can cause as often as it likes; left out when there are many. Does not wait. */
  warn(about: DynamicObject, reason: string, message: string): void;
}

/** The same thing is told again only after this. */
const silenceMs = 10 * 60_000;
const rememberedLimit = 5_000;
/** Ordinary steps. */
const notes = { burst: 20, everyMs: 10_000 };
/** What the provider causes. */
const warnings = { burst: 50, everyMs: 2_000 };

/** A recorder that writes to the app cluster. */
export function createEventRecorder(client: KubeClient, clock: Clock, logger: Logger): EventRecorder {
  const told = new Map<string, number>();
  const isSilent = (about: DynamicObject, reason: string, message: string): boolean =>
    clock.monotonic() - (told.get(keyOfText(about, reason, message)) ?? Number.NEGATIVE_INFINITY) < silenceMs;
  const noteBucket = new TokenBucket(clock, notes);
  const warningBucket = new TokenBucket(clock, warnings);
  return {
    note(about, reason, message) {
      if (noteBucket.take()) void this.tell(about, "Normal", reason, message);
    },
    warn(about, reason, message) {
      if (isSilent(about, reason, message) || !warningBucket.take()) return;
      void this.tell(about, "Warning", reason, message);
    },
    async tell(about, type, reason, message) {
      const { namespace = "default", name = "", uid = "" } = about.metadata;
      if (isSilent(about, reason, message)) return;
      if (told.size >= rememberedLimit) told.clear();
      told.set(keyOfText(about, reason, message), clock.monotonic());
      const time = wholeSeconds(clock.now());
      const event: DynamicObject = {
        apiVersion: "v1",
        kind: "Event",
        metadata: { namespace, generateName: `${name.slice(0, 200)}.` },
        involvedObject: { apiVersion: about.apiVersion, kind: about.kind, namespace, name, uid },
        type,
        reason: isReason.test(reason) ? reason : "Other",
        message: plainText(message, messageLimit),
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

const messageLimit = 1024;
/** A word in upper camel case, as Kubernetes' own are. */
const isReason = /^[A-Za-z][A-Za-z0-9]{0,127}$/;

/** Long texts are told apart by their beginnings: more of them is not shown. */
function keyOfText({ metadata }: DynamicObject, reason: string, message: string): string {
  return `${metadata.uid ?? ""} ${reason} ${message.slice(0, messageLimit)}`;
}
