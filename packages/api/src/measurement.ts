/**
 * Size and last session of an instance, as its broker tells them in two attributes of the instance's metadata (OSB 2.16 "Service Instance Metadata").
 * Few brokers do. A broker is a stranger: an attribute that cannot be true is unknown, and unknown is never 0 and never idle.
 *
 * | the broker tells                                   | it is taken as                                                      |
 * |----------------------------------------------------|---------------------------------------------------------------------|
 * | no attribute, or one of another form               | unknown                                                             |
 * | a size that is negative, fractional or over 1 PiB  | unknown                                                             |
 * | a session more than 5 minutes in the future        | unknown: one of the clocks is wrong, and nothing says which         |
 * | a session in the next 5 minutes                    | now                                                                 |
 * | a session before the instance existed              | the moment since which it exists                                    |
 */
import { createHash } from "node:crypto";
import { recordAt, wholeSeconds } from "@klutch/kube-core";
import type { ServiceInstance } from "./kinds/service-instance.ts";
import { claimNameLabel } from "./names.ts";
import { existingPlanOf, timeOf, type UsedPlan } from "./usage.ts";

/** Attribute with the size of the instance's data in bytes, a whole number or its decimal text. */
export const bytesAttribute = "klutch.anynines.com/bytes";
/**
 * Attribute with the end of the last session of a client, in RFC 3339: now while a session is open, and the creation of the instance if it never had one.
 * Sessions of the broker itself do not count.
 */
export const lastSessionAttribute = "klutch.anynines.com/last-session";

/** Largest size of one instance that is taken: 1 PiB. */
export const mostInstanceBytes: number = 2 ** 50;
/** Days without a session after which a database counts as idle, if nothing else is said. */
export const idleDays = 30;

/** Facts that a broker told. */
export interface Told {
  readonly bytes?: number | undefined;
  /** RFC 3339, in UTC. */
  readonly lastSession?: string | undefined;
}

/** Facts that a broker told at one moment. */
export interface Measurement extends Told {
  /** When the broker was asked, by the clock of the provider. RFC 3339. */
  readonly at: string;
}

/** A measurement that still holds, and the plan that it is of. */
export interface Measured extends Measurement {
  readonly plan: UsedPlan;
}

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
/** Clocks of a broker and of the control plane may differ by this much. */
const skewMs = 5 * minuteMs;
/** An older measurement tells nothing of now. One is renewed each day at the latest. */
const mostAgeMs = 3 * dayMs;
/** Sizes that differ by less than this part of the size are the same. */
const sizeStep = 16;
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** Reads the attributes of a broker's answer. `since`: the moment since which the instance exists, in RFC 3339. */
export function toldBy(
  attributes: unknown,
  { now, since }: { readonly now: number; readonly since: string },
): Told {
  const given = recordAt(attributes);
  const bytes = bytesOf(given[bytesAttribute]);
  const lastSession = sessionOf(given[lastSessionAttribute], now, since);
  return { ...(bytes !== undefined && { bytes }), ...(lastSession !== undefined && { lastSession }) };
}

/**
 * Returns the measurement to keep. One is kept for an hour at least, and for a day while the facts hardly change, so that a status is written seldom.
 * Both times are up to twice as long, by `instanceId`, so that writes of many instances spread.
 */
export function nextMeasurement(
  known: Measurement | undefined,
  told: Told,
  { now, instanceId }: { readonly now: number; readonly instanceId: string },
): Measurement | undefined {
  const next = isSilent(told) ? undefined : { at: wholeSeconds(now), ...told };
  if (known === undefined) return next;
  const ageMs = now - Date.parse(known.at);
  const spread = 1 + spreadOf(instanceId);
  // A clock that was set back makes the age negative.
  if (ageMs >= 0 && ageMs < hourMs * spread) return known;
  const isSame = next !== undefined && isAlike(known, next);
  return isSame && ageMs >= 0 && ageMs < dayMs * spread ? known : next;
}

/** Returns the facts that still hold for the instance; undefined for one that its broker lacks, and if nothing recent is known. */
export function measuredOf(instance: ServiceInstance, now: number): Measured | undefined {
  const existing = existingPlanOf(instance);
  const known = recordAt(instance.status?.atProvider?.measured);
  const at = typeof known["at"] === "string" ? timeOf(known["at"]) : undefined;
  if (existing === undefined || at === undefined) return undefined;
  const asked = Date.parse(at);
  if (asked < now - mostAgeMs || asked > now + skewMs) return undefined;
  const bytes = bytesOf(known["bytes"]);
  const lastSession = sessionOf(known["lastSession"], asked, undefined);
  if (bytes === undefined && lastSession === undefined) return undefined;
  const { service, plan, config } = existing;
  return { at, bytes, lastSession, plan: { service, plan, config } };
}

/**
 * Returns the whole days for which the instance had no session when its broker was asked; undefined if that is not known, or if the days are fewer than
 * `leastDays`.
 */
export function idleDaysOf(
  measured: Measurement | undefined,
  leastDays: number = idleDays,
): number | undefined {
  if (measured?.lastSession === undefined) return undefined;
  const days = Math.floor((Date.parse(measured.at) - Date.parse(measured.lastSession)) / dayMs);
  return days >= leastDays ? days : undefined;
}

/** Names the instance for people: by its claim, else by its own name. */
export function claimNameOf({ metadata }: Pick<ServiceInstance, "metadata">): string {
  return metadata.labels?.[claimNameLabel] ?? metadata.name ?? "";
}

function isSilent({ bytes, lastSession }: Told): boolean {
  return bytes === undefined && lastSession === undefined;
}

/** A session on another day, or a size that differs by a sixteenth, is news. */
function isAlike(one: Told, other: Told): boolean {
  const sameSize =
    one.bytes === other.bytes ||
    (one.bytes !== undefined &&
      other.bytes !== undefined &&
      Math.abs(one.bytes - other.bytes) * sizeStep < one.bytes);
  const [before, after] = [one.lastSession, other.lastSession];
  const sameSession =
    before === after ||
    (before !== undefined && after !== undefined && Math.abs(Date.parse(before) - Date.parse(after)) < dayMs);
  return sameSize && sameSession;
}

function bytesOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  const isSize =
    typeof number === "number" && Number.isSafeInteger(number) && number >= 0 && number <= mostInstanceBytes;
  return isSize ? number : undefined;
}

function sessionOf(value: unknown, now: number, since: string | undefined): string | undefined {
  if (typeof value !== "string" || !rfc3339.test(value)) return undefined;
  const told = Date.parse(value);
  if (Number.isNaN(told) || told > now + skewMs) return undefined;
  const earliest = since === undefined ? Number.NaN : Date.parse(since);
  const moment = Math.min(now, Math.max(told, Number.isNaN(earliest) ? told : earliest));
  return timeOf(wholeSeconds(moment));
}

/** Returns a number from 0 up to 1, always the same for the same instance. */
function spreadOf(instanceId: string): number {
  return createHash("sha256").update(instanceId).digest().readUInt32BE() / 2 ** 32;
}
