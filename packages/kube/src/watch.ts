/** Decodes a watch stream into events. Policy (resume, relist, back-off) belongs to @klutch/kube-runtime. */
import { isRecord, type KubeObject, numberAt } from "@klutch/kube-core";
import { excessIn } from "./bounds.ts";
import { decodeObject, errorOf, parseJudged } from "./decode.ts";
import { TransportError, WatchStalledError } from "./errors.ts";
import { splitLines } from "./lines.ts";
import type { WireResponse } from "./transport.ts";
import type { WatchEvent } from "./types.ts";

/**
 * Yields the events of an open watch until the server ends it. An event that exceeds a bound (bounds.ts) is left out. Throws `ApiError` for an ERROR event (410 means: list again),
 * `WatchStalledError` after `idleTimeoutMs` of silence, `TransportError` when the connection breaks.
 */
export async function* decodeWatch<T extends KubeObject>(
  response: WireResponse,
  options: {
    readonly what: string;
    readonly idleTimeoutMs: number;
    readonly signal: AbortSignal | undefined;
    /** Called with the bound that an event exceeds. */
    readonly onLeftOut?: ((excess: string) => void) | undefined;
  },
): AsyncGenerator<WatchEvent<T>> {
  try {
    for await (const line of splitLines(response.body)) {
      const excess = excessIn(line);
      if (excess === undefined) yield decodeEvent<T>(line, options.what);
      else options.onLeftOut?.(excess);
    }
  } catch (error) {
    if (options.signal?.aborted === true) throw options.signal.reason;
    if (isIdleTimeout(error)) throw new WatchStalledError(options.idleTimeoutMs, { cause: error });
    if (
      error instanceof Error &&
      "code" in error &&
      (error.code === "Api" || error instanceof TransportError)
    )
      throw error;
    throw new TransportError("Reset", `${options.what}: the watch connection broke`, { cause: error });
  }
}

function decodeEvent<T extends KubeObject>(line: string, what: string): WatchEvent<T> {
  const event = parseJudged(line, what);
  if (!isRecord(event)) throw new TransportError("Decode", `${what}: an event is not an object`);
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: decodeObject<T>(object, what) };
    case "BOOKMARK": {
      const { metadata } = decodeObject(object, what);
      return {
        type,
        resourceVersion: metadata.resourceVersion ?? "",
        initialEventsEnd: metadata.annotations?.["k8s.io/initial-events-end"] === "true",
      };
    }
    case "ERROR": {
      const status = numberAt(object, "code") ?? 500;
      throw errorOf(status, object, undefined, what);
    }
    default:
      throw new TransportError("Decode", `${what}: unknown event type ${JSON.stringify(type)}`);
  }
}

function isIdleTimeout(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "UND_ERR_BODY_TIMEOUT";
}
