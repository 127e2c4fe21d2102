/** Follows one kind at the API server with one list and one watch, whatever the number of tenants. */
import { type Clock, type Random, type Transport, type WireResponse } from "@klutch/kube";
import { jsonOf, plainText, recordsAt, textAt } from "@klutch/kube-core";
import { Backoff } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { byteLines, FormError, type ListBytes, readList, readWatchLine } from "./json-bytes.ts";
import type { KindCache } from "./kind-cache.ts";

/** A resource in one version. */
export interface FollowedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** Options of `followKind`. */
export interface FollowOptions {
  readonly kind: FollowedKind;
  readonly cache: KindCache;
  /** With the gateway's own credentials. */
  readonly transport: Pick<Transport, "send">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Seconds that a watch lasts. */
const [shortestSeconds, longestSeconds] = [300, 600];
/** A watch that the server ends so long before its time may have shown objects through an old schema. */
const earlyMs = 30_000;
/** Silence after which a watch is given up: bookmarks come each minute. */
const idleMs = 90_000;
const pageObjects = 500;
const longestPage = 256 * 1024 * 1024;

/** The answer of the API server to the gateway's own request. */
class AnswerError extends Error {
  readonly code = "Answer";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "AnswerError";
    this.status = status;
  }
}

/** Fills the cache and keeps it current until the signal aborts. Never throws. */
export async function followKind(options: FollowOptions): Promise<void> {
  const { kind, cache, clock, random, logger, signal } = options;
  const backoff = new Backoff({ baseMs: 500, capMs: 30_000, random });
  while (!signal.aborted) {
    const startedMs = clock.monotonic();
    let error: unknown;
    let version = 0;
    try {
      if (!cache.synced) await fill(options);
      version = cache.resourceVersion;
      if (await watch(options)) cache.reset();
    } catch (failure) {
      error = failure;
    }
    if (signal.aborted) break;
    // A watch from a version that the server has not reached any more says nothing, for ever.
    const isSilent = error !== undefined && clock.monotonic() - startedMs >= idleMs;
    if (isSilent && cache.resourceVersion === version) cache.reset();
    if (error instanceof FormError || (error instanceof AnswerError && isFinal(error))) cache.reset();
    if (clock.monotonic() - startedMs > 60_000) backoff.reset();
    const waitMs = error === undefined ? 50 : backoff.next();
    if (error !== undefined)
      logger.warn("a kind cannot be followed, trying again", {
        resource: nameOf(kind),
        retryInMs: waitMs,
        error,
      });
    await clock.sleep(waitMs, { signal }).catch(() => undefined);
  }
  cache.reset();
}

/** Tells that what the cache holds does not count any more: rights, kind or history are gone. */
function isFinal({ status, message }: AnswerError): boolean {
  return (status >= 400 && status < 500 && status !== 429) || message.includes("Too large resource version");
}

function nameOf({ plural, group }: FollowedKind): string {
  return `${plural}.${group}`;
}

/** Returns the path of the whole collection. */
function pathOf({ group, version, plural }: FollowedKind, query: Readonly<Record<string, string>>): string {
  return `/apis/${group}/${version}/${plural}?${new URLSearchParams(query).toString()}`;
}

async function fill({ kind, cache, transport, signal }: FollowOptions): Promise<void> {
  const root = { method: "GET", path: `/apis/${kind.group}/${kind.version}`, signal } as const;
  const resources = recordsAt(jsonOf(await textOf(await transport.send(root), kind)), "resources");
  const name = textAt(
    resources.find((resource) => resource["name"] === kind.plural),
    "kind",
  );
  if (name === undefined) throw new AnswerError(404, `the API server does not serve ${nameOf(kind)}`);
  const pages: ListBytes[] = [];
  let token = "";
  do {
    const query = { limit: String(pageObjects), ...(token === "" ? {} : { continue: token }) };
    const response = await transport.send({
      method: "GET",
      path: pathOf(kind, query),
      isLarge: true,
      signal,
    });
    const page = readList(Buffer.from(await textOf(response, kind)));
    pages.push(page);
    token = page.continueToken;
  } while (token !== "");
  cache.begin(name, pages);
}

/** Takes events until the watch ends. Gives back true if the objects have to be listed again. */
async function watch({ kind, cache, transport, clock, random, signal }: FollowOptions): Promise<boolean> {
  const seconds = Math.round(shortestSeconds + random() * (longestSeconds - shortestSeconds));
  const query = {
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: String(cache.resourceVersion),
    timeoutSeconds: String(seconds),
  };
  const earlyUntilMs = clock.monotonic() + seconds * 1000 - earlyMs;
  const request = { method: "GET", path: pathOf(kind, query), signal, bodyTimeoutMs: idleMs } as const;
  const response = await transport.send(request);
  if (response.status !== 200) await textOf(response, kind);
  for await (const line of byteLines(response.body)) {
    const event = readWatchLine(line);
    if (event.type === "ERROR") throw new AnswerError(event.code, event.message);
    cache.apply(event, clock.monotonic());
  }
  return clock.monotonic() < earlyUntilMs;
}

async function textOf(response: WireResponse, kind: FollowedKind): Promise<string> {
  const text = await response.text(longestPage);
  if (response.status !== 200) {
    const message = `the API server answered ${response.status} for ${nameOf(kind)}: ${plainText(text, 200)}`;
    throw new AnswerError(response.status, message);
  }
  return text;
}
