/** Shows times, ages, money, health and names. All texts are text nodes: words of strangers never become markup. */
import type { Health, Money } from "@klutch/overview/console-wire";
import type { ReactElement } from "react";
import { useNow } from "../clock.ts";

const locale = navigator.languages.length > 0 ? [...navigator.languages] : undefined;
const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const hourAndMinute = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
const plain = new Intl.NumberFormat(locale);
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "always", style: "narrow" });

/** Compares as a person sorts: db-2 before db-10. */
export const collator: Intl.Collator = new Intl.Collator(locale, { numeric: true, sensitivity: "base" });

export function formatNumber(value: number): string {
  return plain.format(value);
}

export function formatTime(ms: number): string {
  return hourAndMinute.format(ms);
}

const sizes = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/** Returns a size in the largest unit of which there is one at least, such as `7.3 GiB`. */
export function formatBytes(bytes: number): string {
  const rank = Math.min(sizes.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const amount = bytes / 1_024 ** rank;
  const shown = rank === 0 ? amount : Math.floor(amount * 10) / 10;
  return `${plain.format(shown)} ${sizes[rank] ?? ""}`;
}

const units = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** Returns "3 hr. ago" or "in 2 days" in the person's language. A clock that is a little ahead makes nothing happen in the future. */
export function formatAge(atMs: number, nowMs: number): string {
  const seconds = Math.trunc((atMs - nowMs) / 1000);
  for (const [unit, size] of units)
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  return seconds > 0 ? relative.format(seconds, "second") : "just now";
}

/** An age that keeps up with the clock; its title is the absolute time. */
export function Age({ at }: { readonly at: string | undefined }): ReactElement {
  const nowMs = useNow();
  const atMs = at === undefined ? Number.NaN : Date.parse(at);
  if (Number.isNaN(atMs)) return <Nothing />;
  return (
    <time dateTime={at} title={moment.format(atMs)}>
      {formatAge(atMs, nowMs)}
    </time>
  );
}

/** An absolute time; its title is the age. */
export function Moment({ at }: { readonly at: string | undefined }): ReactElement {
  const nowMs = useNow();
  const atMs = at === undefined ? Number.NaN : Date.parse(at);
  if (Number.isNaN(atMs)) return <Nothing />;
  return (
    <time dateTime={at} title={formatAge(atMs, nowMs)}>
      {moment.format(atMs)}
    </time>
  );
}

/** Returns the amount with the sign of its currency; a code that is none is shown as it is. */
export function formatMoney({ amount, currency }: Money): string {
  try {
    return new Intl.NumberFormat(locale, { style: "currency", currency }).format(Number(amount));
  } catch {
    return `${amount} ${currency}`;
  }
}

export function Price({ money }: { readonly money: Money | undefined }): ReactElement {
  return money === undefined ? <Nothing /> : <span className="number">{formatMoney(money)}</span>;
}

const healths: Readonly<Record<Health, string>> = {
  well: "Well",
  pending: "Pending",
  problem: "Problem",
  deleting: "Deleting",
};

/** The word says it; the colour only helps. A health that this release does not know is shown as it came. */
export function HealthMark({ health }: { readonly health: Health }): ReactElement {
  const known = health in healths;
  return <span className={`mark ${known ? health : "pending"}`}>{known ? healths[health] : health}</span>;
}

/** A name or text; an empty one is a dash. */
export function Text({ of }: { readonly of: string | undefined }): ReactElement {
  return of === undefined || of === "" ? <Nothing /> : <span title={of}>{of}</span>;
}

export function Nothing(): ReactElement {
  return (
    <span className="soft">
      <span aria-hidden="true">–</span>
      <span className="hidden">none</span>
    </span>
  );
}
