/**
 * Events on objects, for the person who wrote them. What needs attention (waiting, refused, held) is always recorded; ordinary steps
 * (accepted, placed, synced) only as long as there are few: a burst of objects must not cost as many events.
 */
import { type DynamicObject, events, plainText, wholeSeconds } from "@klutch/kube-core";
import { type Clock, type KubeClient } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import { TokenBucket } from "./token-bucket.ts";

/** Another object that an event is about, as far as it is known. */
export interface RelatedObject {
  readonly kind: string;
  readonly name: string;
}

/** Records events on an object. Never fails: an event that cannot be written is logged. */
export interface EventRecorder {
  /** An ordinary step; left out when there are many. Does not wait. */
  recordRoutine(about: DynamicObject, reason: string, message: string): void;
  record(about: DynamicObject, type: "Normal" | "Warning", reason: string, message: string): Promise<void>;
  /** A Warning that a stranger can cause as often as it likes; left out when there are many. Does not wait. `related`: another object. */
  recordWarning(about: DynamicObject, reason: string, message: string, related?: RelatedObject): void;
}

/** The same thing is recorded again only after this. */
const silenceMs = 10 * 60_000;
const rememberedLimit = 5_000;
/** Ordinary steps. */
const routine = { burst: 20, everyMs: 10_000 };
/** Limit for events that foreign objects cause. */
const warnings = { burst: 50, everyMs: 2_000 };

/** Options of a recorder. */
export interface EventRecorderOptions {
  /** Client of the cluster with the objects. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The component that reports it: `konnector`. */
  readonly component: string;
}

/** Remembers what it recorded while it lives. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock, logger, component } = options;
  const recorded = new Map<string, number>();
  const isSilent = (about: DynamicObject, reason: string, message: string): boolean =>
    clock.monotonic() - (recorded.get(keyOfText(about, reason, message)) ?? Number.NEGATIVE_INFINITY) <
    silenceMs;
  const routineBucket = new TokenBucket(clock, routine);
  const warningBucket = new TokenBucket(clock, warnings);
  const record = async (
    about: DynamicObject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    related?: RelatedObject,
  ): Promise<void> => {
    const { namespace = "default", name = "", uid } = about.metadata;
    if (isSilent(about, reason, message)) return;
    if (recorded.size >= rememberedLimit) recorded.clear();
    recorded.set(keyOfText(about, reason, message), clock.monotonic());
    const time = wholeSeconds(clock.now());
    const event: DynamicObject = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, generateName: `${name.slice(0, 200)}.` },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        namespace,
        name,
        ...(uid === undefined ? {} : { uid }),
      },
      type,
      reason: isReason.test(reason) ? reason : "Other",
      message: plainText(message, messageLimit),
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      source: { component },
      ...(related === undefined ? {} : { related }),
    };
    try {
      await client.create(events, event);
    } catch (error) {
      logger.debug("the event could not be written", { namespace, name, reason, error });
    }
  };
  return {
    record: (about, type, reason, message) => record(about, type, reason, message),
    recordRoutine(about, reason, message) {
      if (routineBucket.take()) void record(about, "Normal", reason, message);
    },
    recordWarning(about, reason, message, related) {
      if (isSilent(about, reason, message) || !warningBucket.take()) return;
      void record(about, "Warning", reason, message, related);
    },
  };
}

const messageLimit = 1024;
/** A word in upper camel case, as Kubernetes' own are. */
const isReason = /^[A-Za-z][A-Za-z0-9]{0,127}$/;

/** Long texts are recorded apart by their beginnings: more of them is not shown. */
function keyOfText({ kind, metadata }: DynamicObject, reason: string, message: string): string {
  const { namespace = "", name = "", uid = "" } = metadata;
  return `${kind} ${namespace}/${name} ${uid} ${reason} ${message.slice(0, messageLimit)}`;
}
