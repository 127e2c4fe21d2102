/** Brings Warning events about upstream objects to their claims, so that a developer sees why a database does not come. */
import { type DynamicObject, events, isRecord } from "@klutch/kube-core";
import { type Clock, isForbidden, isGone, type KubeClient, type Random } from "@klutch/kube";
import { Backoff, type RelatedObject } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";

/** Options for one provider namespace, or for the whole cluster. */
export interface WarningsOptions {
  readonly client: KubeClient;
  /** The whole cluster when absent. */
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onWarning: (warning: Warning) => void;
}

/** A Warning event, as far as it is passed on. */
export interface Warning {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
  /** Another object of which the event speaks: its name, and the end of its kind. */
  readonly related: RelatedObject | undefined;
}

const fieldSelector = "type=Warning";

/**
 * Follows the events from now on until the signal aborts. No cache: an event that was missed while the connection was down comes
 * again, because controllers repeat theirs. Without the right to read events it ends quietly.
 */
export async function followWarnings(options: WarningsOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, clock, random, logger, onWarning } = options;
  const backoff = new Backoff({ baseMs: 2_000, capMs: 60_000, random });
  let resourceVersion: string | undefined;
  while (!signal.aborted) {
    try {
      const scope = { namespace, fieldSelector, signal };
      resourceVersion ??= (await client.list<DynamicObject>(events, { ...scope, limit: 1 })).resourceVersion;
      for await (const event of client.watch<DynamicObject>(events, {
        ...scope,
        resourceVersion,
        timeoutSeconds: 600,
      })) {
        if (event.type === "BOOKMARK") {
          ({ resourceVersion } = event);
          continue;
        }
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
        const warning = event.type === "DELETED" ? undefined : warningOf(event.object);
        if (warning !== undefined) onWarning(warning);
      }
      backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      if (isForbidden(error)) {
        logger.debug("the provider does not let its events be read", { namespace });
        return;
      }
      if (isGone(error)) resourceVersion = undefined;
    }
    await clock.sleep(backoff.next(), { signal }).catch(() => undefined);
  }
}

/** The warning that an event is; undefined when it is none that can be passed on. */
export function warningOf(event: DynamicObject): Warning | undefined {
  const about = event["involvedObject"];
  const { reason, message } = event;
  if (!isRecord(about) || typeof message !== "string") return undefined;
  const { apiVersion, kind, name, namespace } = about;
  if (!isName(apiVersion) || !isName(kind) || !isName(name)) return undefined;
  if (namespace !== undefined && !isName(namespace)) return undefined;
  return {
    apiVersion,
    kind,
    namespace,
    name,
    reason: isName(reason) ? reason : "Warning",
    message: message.slice(0, messageLimit),
    related: relatedOf(event["related"]),
  };
}

function relatedOf(value: unknown): RelatedObject | undefined {
  if (!isRecord(value)) return undefined;
  const { kind, name } = value;
  return isName(kind) && isName(name) ? { kind, name } : undefined;
}

/** Leaves room for the text before it in an event of ours. */
const messageLimit = 900;

const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= 253;
