/** Answers one request after the other: from a cache where that is exact and allowed, and by the API server everywhere else. */
import { type Clock, type Random, type Transport } from "@klutch/kube";
import type { AccountOf } from "./account.ts";
import type { Authority, Right } from "./authority.ts";
import { phaseOf } from "./digest.ts";
import {
  announcedBytes,
  type Answer,
  answerFailure,
  clientSignal,
  type HoldBytes,
  jsonHeaders,
  sendHead,
  type ServerRequest,
  sinkOf,
  untilTaken,
} from "./exchange.ts";
import { judgeHeaders } from "./headers.ts";
import type { Cursor } from "./history.ts";
import { inTime } from "./in-time.ts";
import type { KindCache, KindNames } from "./kind-cache.ts";
import type { Kinds } from "./kinds.ts";
import { longestBody, passThrough } from "./pass-through.ts";
import { Turns } from "./places.ts";
import { type CollectionRequest, type PassReason, readRequest } from "./request.ts";
import { sendList } from "./send-list.ts";
import { errorLine, expired, type Failure, unauthorized } from "./status.ts";
import { createTenantLimits, type PlaceKind, type TakePlace, type TenantLimits } from "./tenant-limits.ts";
import { pagesOf, readPage } from "./upstream-pages.ts";
import { streamWatch, type WatchEnd } from "./watch-stream.ts";

/** Called with everything that the gateway does, for metrics. */
export interface GatewayEvents {
  readonly passed: (reason: PassReason) => void;
  readonly refused: (code: number) => void;
  readonly listed: () => void;
  readonly watched: (change: 1 | -1) => void;
  readonly ended: (how: WatchEnd) => void;
}

/** Options of `createGateway`. */
export interface GatewayOptions {
  /** Without credentials of its own: each request has the tenant's. */
  readonly transport: Pick<Transport, "send">;
  readonly accountOf: AccountOf;
  readonly authority: Authority;
  readonly kinds: Kinds;
  /** Tells the resources that are bound. */
  readonly isBound: (group: string, plural: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: GatewayEvents;
  readonly limits?: TenantLimits | undefined;
  /** Interval of the questions whether an open watch is still allowed. Default 60 000. */
  readonly askEveryMs?: number | undefined;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

/** Answers a request; never throws. */
export type Gateway = (request: ServerRequest, answer: Answer) => Promise<void>;

const [shortestWatchMs, longestWatchMs] = [1_800_000, 3_600_000];
/** Time to wait for a cache that is being filled. */
const longestFillMs = 5_000;
/** Watches of one account that read their first objects from the API server at the same moment; more of them wait. */
const mostPages = 2;

/** Everything about a request that its answer needs. */
interface Asked {
  readonly request: ServerRequest;
  readonly answer: Answer;
  readonly authorization: string;
  readonly forwarded: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly isWatch: boolean;
  /** Takes a place for this request's account. */
  readonly take: (kind: PlaceKind, count?: number) => ReturnType<TakePlace>;
  readonly hold: HoldBytes;
  /** Waits until this request's account may read pages. */
  readonly pageTurn: () => Promise<Disposable>;
}

/** Returns the gateway. */
export function createGateway(options: GatewayOptions): Gateway {
  const take = createTenantLimits(options.limits ?? {});
  const turns = new Turns(mostPages);
  return async (request, answer) => {
    // A client that breaks off is no error of this process.
    request.on("error", () => undefined);
    answer.on("error", () => undefined);
    const signal = clientSignal(answer, options.signal);
    try {
      const headers = judgeHeaders(request.rawHeaders);
      if (headers.refusal !== undefined) return refuse(options, answer, headers.refusal);
      const { authorization, forwarded, accept } = headers;
      const read = readRequest(request.method ?? "", request.url ?? "", accept);
      if (read.kind === "refuse") return refuse(options, answer, read.failure);
      const account = await options.accountOf(authorization);
      if (account === "unauthorized") return refuse(options, answer, unauthorized);
      const isWatch = read.kind === "pass" ? read.isWatch : read.request.watch !== undefined;
      const asked: Asked = {
        request,
        answer,
        authorization,
        forwarded,
        signal,
        isWatch,
        take: (kind, count) => take(kind, account.key, count),
        hold(bytes) {
          const held = take("unread", account.key, bytes);
          return held.refusal === undefined ? held : undefined;
        },
        pageTurn: () => turns.take(account.key, signal),
      };
      await inPlace(options, asked, isWatch ? "watch" : "request", 1, async () => {
        await respond(options, asked, read);
        // What waits for its reader still takes memory.
        await untilTaken(answer, signal, options.clock);
      });
    } catch {
      answer.destroy();
    } finally {
      await untilTaken(answer, signal, options.clock);
    }
  };
}

function refuse({ events }: Pick<GatewayOptions, "events">, answer: Answer, failure: Failure): void {
  events.refused(failure.code);
  answerFailure(answer, failure);
}

/** Works while the account has the places for it; else it refuses the request. */
async function inPlace(
  options: GatewayOptions,
  { answer, take }: Asked,
  kind: PlaceKind,
  count: number,
  work: () => Promise<void>,
): Promise<void> {
  const place = take(kind, count);
  if (place.refusal !== undefined) return refuse(options, answer, place.refusal);
  using _held = place;
  await work();
}

async function respond(
  options: GatewayOptions,
  asked: Asked,
  read: Exclude<ReturnType<typeof readRequest>, { kind: "refuse" }>,
): Promise<void> {
  const reason = read.kind === "pass" ? read.reason : await answerFromCache(options, asked, read.request);
  if (reason === undefined) return;
  // A longer body is refused before it is held, and one that its headers do not announce as well.
  const mostBytes = Math.min(announcedBytes(asked.request, longestBody), longestBody);
  const pass = async (): Promise<void> => {
    options.events.passed(reason);
    await passThrough(options.transport, { ...asked, clock: options.clock, mostBytes });
  };
  const holdBody = (): Promise<void> =>
    mostBytes === 0 ? pass() : inPlace(options, asked, "body", mostBytes, pass);
  await (asked.isWatch ? inPlace(options, asked, "passedWatch", 1, holdBody) : holdBody());
}

/** Answers, or says why only the API server can. */
async function answerFromCache(
  options: GatewayOptions,
  asked: Asked,
  request: CollectionRequest,
): Promise<PassReason | undefined> {
  const { group, version, plural, namespace, watch } = request;
  if (!options.isBound(group, plural)) return "unbound";
  const verb = watch === undefined ? "list" : "watch";
  const ask = (): Promise<Right> =>
    options.authority({ authorization: asked.authorization, verb, group, plural, namespace });
  const right = await ask();
  if (right === "unauthorized") {
    refuse(options, asked.answer, unauthorized);
    return undefined;
  }
  if (right !== "allowed") return "access";
  // Only app clusters that may read a kind make the gateway follow it.
  const cache = options.kinds.use({ group, version, plural });
  // A watch that passes through stays apart for minutes.
  if (!cache.synced) await inTime(options.clock, longestFillMs, cache.whenSynced());
  const { names } = cache;
  if (!cache.synced || names === undefined) return "unsynced";
  const { from } = request;
  if (watch === undefined) {
    if (typeof from === "number" && from > cache.resourceVersion) return "newer";
    options.events.listed();
    asked.request.resume();
    const content = { names, resourceVersion: cache.resourceVersion, objects: cache.list(namespace) };
    await sendList({ ...asked, clock: options.clock }, content);
    return undefined;
  }
  return await sendWatch(options, asked, { request, cache, names, ask, watch });
}

/** A watch that may be answered. */
interface AskedWatch {
  readonly request: CollectionRequest;
  readonly watch: NonNullable<CollectionRequest["watch"]>;
  readonly cache: KindCache;
  readonly names: KindNames;
  readonly ask: () => Promise<Right>;
}

async function sendWatch(
  options: GatewayOptions,
  asked: Asked,
  { request, watch, cache, names, ask }: AskedWatch,
): Promise<PassReason | undefined> {
  const { clock, random, events, transport, askEveryMs = 60_000 } = options;
  const { namespace, from } = request;
  const { answer, signal } = asked;
  const { sendsInitialEvents, marksInitialEvents, bookmarks, timeoutSeconds } = watch;
  if (sendsInitialEvents && typeof from === "number" && from > cache.resourceVersion) return "newer";
  let initial: AsyncIterable<readonly Buffer[]> | Iterable<readonly Buffer[]> | undefined;
  let after = typeof from === "number" ? from : cache.resourceVersion;
  using turns = new DisposableStack();
  if (from === "latest") {
    // The API server says what there is now, with the tenant's own token; only what comes then is shared.
    const turn = turns.use(await asked.pageTurn());
    const reader = { transport, ...asked };
    const first = await readPage(reader, request);
    if (first === undefined) return "consistent";
    after = first.resourceVersion;
    initial = pagesOf(reader, request, first, turn);
  } else if (sendsInitialEvents) {
    after = cache.resourceVersion;
    initial = [cache.list(namespace)];
  }
  const cursor: Cursor | undefined = cache.cursor(namespace, after);
  sendHead(answer, 200, jsonHeaders);
  asked.request.resume();
  if (cursor === undefined) {
    events.ended("expired");
    answer.end(errorLine(expired(after)));
    return;
  }
  events.watched(1);
  try {
    const how = await streamWatch({
      names,
      cursor,
      initial,
      from: after,
      marksInitialEvents,
      bookmarks,
      lastsMs:
        timeoutSeconds === undefined
          ? shortestWatchMs + random() * (longestWatchMs - shortestWatchMs)
          : timeoutSeconds * 1000,
      reached: () => cache.resourceVersion,
      mayGoOn: ask,
      askEveryMs,
      askAtMs: phaseOf(asked.authorization, askEveryMs),
      clock,
      sink: sinkOf(answer, signal, asked.hold),
    });
    events.ended(how);
    if (how === "slow") answer.destroy();
    else answer.end();
  } finally {
    events.watched(-1);
  }
}
