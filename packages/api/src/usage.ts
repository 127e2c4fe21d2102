/**
 * Counts how long an instance exists at its broker, from the broker's success of making it to its success of deleting it. The count lives in an
 * annotation of the ServiceInstance and is written in the same write as the end of the broker's operation, so no crash comes between them.
 *
 * | event                                   | the annotation then                                            |
 * |-----------------------------------------|----------------------------------------------------------------|
 * | a create or a change begins             | names the plan that was asked for, as `next`                   |
 * | it succeeds                             | the open interval is closed; one of the plan `next` is open    |
 * | a deletion succeeds                     | the open interval is closed                                    |
 * | the instance is lost and made again     | closed at the moment in which the broker first missed it       |
 *
 * Closed intervals are sums by month, in UTC, so the annotation stays small. Times are whole seconds.
 */
import {
  isRecord,
  keyOfRef,
  type KubeObject,
  listAt,
  recordAt,
  textAt,
  wholeSeconds,
} from "@klutch/kube-core";
import type { ServiceInstance } from "./kinds/service-instance.ts";
import { claimNamespaceLabel } from "./names.ts";

/** Annotation of a ServiceInstance with its usage; of a Backup it is that of `backup-usage.ts`. */
export const usageAnnotation = "anynines.crossplane.io/usage";
/** Annotation of a managed resource that its broker does not know any more. */
export const missingAnnotation = "anynines.crossplane.io/missing";

/** The plan that is used, by its names, and the key of the ProviderConfig of its broker. */
export interface UsedPlan {
  readonly service: string;
  readonly plan: string;
  readonly config: string;
}

/** Seconds of one plan in a month. */
export interface UsedSeconds extends UsedPlan {
  /** `YYYY-MM`, in UTC. */
  readonly month: string;
  readonly seconds: number;
}

/** The usage of one instance. */
export interface Usage {
  readonly closed: readonly UsedSeconds[];
  /** The interval that goes on. `from`: RFC 3339. */
  readonly open?: (UsedPlan & { readonly from: string }) | undefined;
  /** The plan that was asked for last. */
  readonly next?: UsedPlan | undefined;
}

/** No clock of a cluster shows an earlier time; one that does is wrong. */
const earliest = Date.UTC(2020, 0, 1);
/** No month is longer. */
const monthSeconds = 31 * 24 * 3_600;
const longestName = 100;
/** An interval with more months is the work of a wrong clock: only its last ones count. */
const mostMonths = 600;

/** Returns the usage that an instance records. Without a record, as before this release, it counts from its `provisionedAt`. */
export function usageOf(instance: ServiceInstance): Usage {
  const text = instance.metadata.annotations?.[usageAnnotation];
  const recorded = text === undefined ? undefined : parsedUsage(text);
  if (recorded !== undefined) return recorded;
  const { provisionedAt, state } = instance.status?.atProvider ?? {};
  const from = provisionedAt === undefined || state === "deleted" ? undefined : timeOf(provisionedAt);
  return { closed: [], ...(from === undefined ? {} : { open: { ...usedPlanOf(instance), from } }) };
}

/** Returns the plan that the instance has by its record; undefined without a record that can be read. */
export function recordedPlanOf({ metadata }: Pick<ServiceInstance, "metadata">): UsedPlan | undefined {
  const text = metadata.annotations?.[usageAnnotation];
  return text === undefined ? undefined : parsedUsage(text)?.open;
}

/** Returns the plan that the spec names. Names are cut after 100 characters. */
export function usedPlanOf({ metadata, spec }: ServiceInstance): UsedPlan {
  const { serviceName, planName } = spec.forProvider;
  const { name = "", kind } = spec.providerConfigRef ?? {};
  const isOwn = metadata.namespace !== undefined && kind === "ProviderConfig";
  const config = isOwn ? keyOfRef({ namespace: metadata.namespace, name }) : name;
  const short = (text: string): string => text.slice(0, longestName);
  return { service: short(serviceName), plan: short(planName), config: config.slice(0, 3 * longestName) };
}

/** Returns the namespace that the usage is counted for: that of the claim. Undefined for a managed resource that was made by hand without one. */
export function usageNamespaceOf({ metadata }: Pick<KubeObject, "metadata">): string | undefined {
  return metadata.namespace ?? metadata.labels?.[claimNamespaceLabel];
}

/** A create or a change begins. */
export function usageAsked(usage: Usage, next: UsedPlan): Usage {
  return { ...usage, next };
}

/**
 * It succeeded. A change that keeps the plan cuts nothing. `asked`: the plan, when an earlier release began the operation and recorded none.
 */
export function usageBegun(usage: Usage, asked: UsedPlan, now: number): Usage {
  const { open, next = open === undefined ? asked : undefined } = usage;
  if (next === undefined || (open !== undefined && samePlan(open, next))) return withoutNext(usage);
  return { closed: rowsUntil(usage, now), open: { ...next, from: wholeSeconds(now) } };
}

/** The instance is gone since `end`. */
export function usageEnded(usage: Usage, end: number): Usage {
  return { closed: rowsUntil(usage, end) };
}

/** Returns the annotation's text. */
export function usageText(usage: Usage): string {
  return JSON.stringify(usage);
}

/** Since when the broker does not know the instance, in milliseconds since the epoch; undefined: it does. */
export function missingSince({ metadata }: Pick<ServiceInstance, "metadata">): number | undefined {
  const since = recordAt(parsed(metadata.annotations?.[missingAnnotation]))["since"];
  return typeof since === "number" ? since : undefined;
}

/** Returns the plan that the instance has at its broker now, and since when; undefined for one that does not exist there. */
export function existingPlanOf(instance: ServiceInstance): Usage["open"] {
  return missingSince(instance) === undefined ? usageOf(instance).open : undefined;
}

/** Returns all rows, the last used one at the end, and the open interval as if it ended at `end`. A clock that was set back makes it 0 s long, never less. */
export function rowsUntil({ closed, open }: Usage, end: number): readonly UsedSeconds[] {
  if (open === undefined) return closed;
  const { from, ...plan } = open;
  const added = monthsOf(Date.parse(from), end).map((piece) => ({ ...piece, ...plan }));
  return added.reduce<readonly UsedSeconds[]>((rows, row) => withRow(rows, row), closed);
}

/** Adds seconds to the row of the same month and plan, which becomes the last one. One instance is never counted longer than a month in a month. */
function withRow(rows: readonly UsedSeconds[], added: UsedSeconds): readonly UsedSeconds[] {
  const isSame = (row: UsedSeconds): boolean => row.month === added.month && samePlan(row, added);
  const before = rows.find(isSame)?.seconds ?? 0;
  const seconds = Math.min(monthSeconds, before + added.seconds);
  return [...rows.filter((row) => !isSame(row)), { ...added, seconds }];
}

/** Returns whether both are the same plan at the same broker. */
export function samePlan(one: UsedPlan, other: UsedPlan): boolean {
  return one.service === other.service && one.plan === other.plan && one.config === other.config;
}

/** Returns the month of a moment in milliseconds, `YYYY-MM` in UTC. */
export function monthAt(moment: number): string {
  return new Date(moment).toISOString().slice(0, 7);
}

/** Cuts an interval at the beginnings of months, in UTC. */
export function monthsOf(
  from: number,
  to: number,
): readonly { readonly month: string; readonly seconds: number }[] {
  const pieces: { readonly month: string; readonly seconds: number }[] = [];
  const end = Math.floor(to / 1_000);
  let start = Math.floor(from / 1_000);
  while (start < end) {
    const date = new Date(start * 1_000);
    const next = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) / 1_000;
    pieces.push({ month: monthAt(start * 1_000), seconds: Math.min(next, end) - start });
    start = next;
  }
  return pieces.slice(-mostMonths);
}

function withoutNext({ closed, open }: Usage): Usage {
  return { closed, ...(open === undefined ? {} : { open }) };
}

/** Undefined if the annotation was damaged. */
function parsedUsage(text: string): Usage | undefined {
  const value = parsed(text);
  if (!isRecord(value) || !Array.isArray(value["closed"])) return undefined;
  const closed = listAt(value, "closed").map(rowOf);
  const plan = usedPlanAt(value["open"]);
  const from = timeOf(textAt(value["open"], "from") ?? "");
  const next = usedPlanAt(value["next"]);
  const isOpen = value["open"] !== undefined;
  if (closed.includes(undefined) || (isOpen && (plan === undefined || from === undefined))) return undefined;
  return {
    closed: closed.filter((row) => row !== undefined),
    ...(plan === undefined || from === undefined ? {} : { open: { ...plan, from } }),
    ...(next === undefined ? {} : { next }),
  };
}

function rowOf(value: unknown): UsedSeconds | undefined {
  const plan = usedPlanAt(value);
  const month = textAt(value, "month") ?? "";
  const seconds = recordAt(value)["seconds"];
  const isRight =
    isMonth(month) &&
    Number.isSafeInteger(seconds) &&
    Number(seconds) >= 0 &&
    Number(seconds) <= monthSeconds;
  return plan === undefined || !isRight ? undefined : { ...plan, month, seconds: Number(seconds) };
}

/** Matches a month by which usage is counted, `YYYY-MM`. */
export const monthPattern: string = "^20[0-9]{2}-(0[1-9]|1[0-2])$";
const monthRule = new RegExp(monthPattern);

/** Returns whether the text is a month by which usage is counted. */
export function isMonth(text: string): boolean {
  return monthRule.test(text);
}

/** Reads the names of a plan; undefined if one of them is no text. */
export function usedPlanAt(value: unknown): UsedPlan | undefined {
  const service = textAt(value, "service");
  const plan = textAt(value, "plan");
  const config = textAt(value, "config");
  if (service === undefined || plan === undefined || config === undefined) return undefined;
  return { service, plan, config };
}

/** Returns a time of RFC 3339 that a clock of a cluster can show, as it is; undefined for another text. */
export function timeOf(text: string): string | undefined {
  const time = Date.parse(text);
  return time >= earliest && time < Date.UTC(2100) ? text : undefined;
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
