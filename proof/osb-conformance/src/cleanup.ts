/** Deletes what the checks made, until the broker says that it is gone. */
import { type PollClock, isObject } from "@klutch/osb/internal";
import { incomplete, lastOperation, operationOf, pathOf, planFields, poll } from "./context.ts";
import type { Exchange, RawRequest } from "./exchange.ts";
import type { Ledger, LedgerEntry } from "./ledger.ts";

/** An entry that could not be deleted, and the broker's last answer. */
export interface Leftover {
  readonly entry: LedgerEntry;
  readonly came: string;
}

export interface CleanupOptions {
  readonly ledger: Ledger;
  readonly send: (request: RawRequest) => Promise<Exchange>;
  readonly clock: PollClock;
  readonly signal: AbortSignal;
  /** Limits the time for all deletions together. */
  readonly limitMs: number;
  /** Default: instances, too. */
  readonly bindingsOnly?: boolean | undefined;
}

const intervalMs = 1_000;
/** A create whose answer never came may still run: it is deleted once more after this pause. */
const unsurePauseMs = 5_000;

/** Empties the ledger. Returns the entries that could not be deleted in time. Throws the reason of the signal. */
export async function cleanUp(options: CleanupOptions): Promise<readonly Leftover[]> {
  const { ledger, clock, signal, bindingsOnly = false } = options;
  const until = clock.now() + options.limitMs;
  const leftovers: Leftover[] = [];
  const entries = ledger.entries.filter(({ bindingId }) => !bindingsOnly || bindingId !== undefined);
  for (const entry of entries) {
    const isUnsure = entry.state === "asked" || entry.state === "unsure";
    let came = await remove(entry, options, until);
    if (came === undefined && isUnsure && clock.now() < until) {
      await clock.sleep(unsurePauseMs, signal);
      came = await remove(entry, options, until);
    }
    if (came === undefined) ledger.gone(entry);
    else leftovers.push({ entry, came });
  }
  return leftovers;
}

/** Undefined when it is gone, else the broker's last words. Tries at least once. */
async function remove(
  entry: LedgerEntry,
  options: CleanupOptions,
  until: number,
): Promise<string | undefined> {
  const { send, clock, signal } = options;
  const query = { ...incomplete, ...planFields(entry) };
  for (;;) {
    const exchange = await send({ method: "DELETE", path: pathOf(entry), query });
    if (isDeleted(exchange, entry)) return undefined;
    if (exchange.status === 202 && (await endsDeleted(entry, exchange, options, until))) return undefined;
    const waitMs = exchange.retryAfterMs ?? intervalMs;
    if (clock.now() + waitMs >= until) return exchange.came;
    await clock.sleep(waitMs, signal);
  }
}

/** Tells whether an entry is gone. 404 counts only in the broker's own words; a refused entry counts as gone when its deletion is refused, too. */
function isDeleted({ status, body, text }: Exchange, { state }: LedgerEntry): boolean {
  if (status === 200 || status === 204) return true;
  const isOwn = isObject(body) || text === "";
  if (isOwn && (status === 404 || status === 410)) return true;
  return state === "refused" && status >= 400 && status < 500 && status !== 401;
}

/** Returns true if an asynchronous deletion ended well. */
async function endsDeleted(
  entry: LedgerEntry,
  accepted: Exchange,
  { send, clock, signal }: CleanupOptions,
  until: number,
): Promise<boolean> {
  const request = lastOperation(operationOf(entry, accepted, true), entry);
  const maximumMs = until - clock.now();
  const { end } = await poll(() => send(request), { clock, signal, deletes: true, maximumMs });
  return end.kind !== "failed";
}
