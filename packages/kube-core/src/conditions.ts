/** Conditions in Cluster API's style: with a severity, and `Ready` as the summary of all others. See docs/reference/conditions.md. */

/** A condition as Cluster API has it: with a severity that is set only while the status is False. */
export interface Condition {
  readonly type: string;
  /** `True`, `False` or `Unknown`; the schema does not enforce it. */
  readonly status: string;
  /** `Error`, `Warning` or `Info`; only while the status is False. */
  readonly severity?: string | undefined;
  /** RFC 3339, whole seconds. */
  readonly lastTransitionTime: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** A condition without its time, which `setCondition` fills in. */
export type NewCondition = Omit<Condition, "lastTransitionTime">;

const ready = "Ready";
/** Conditions that are bad news when they are True. They are absent while there is nothing to tell. */
const alarms: ReadonlySet<string> = new Set(["DeletionHeld", "Stalled", "Unbinding"]);

/** A condition that says, by being True, that something is held or going on, and why. */
export function alarmCondition(
  type: "DeletionHeld" | "Stalled" | "Unbinding",
  reason: string,
  severity: "Error" | "Warning" | "Info",
  message: string,
): NewCondition {
  return { type, status: "True", severity, reason, message };
}

/** A True condition has no severity, reason or message. */
export function trueCondition(type: string): NewCondition {
  return { type, status: "True" };
}

/** A False condition and why. */
export function falseCondition(
  type: string,
  reason: string,
  severity: "Error" | "Warning" | "Info",
  message: string,
): NewCondition {
  return { type, status: "False", severity, reason, message };
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * The list with `condition` in it: `Ready` first, then by type. The time moves only when status, reason, severity or message do,
 * so setting what is already there gives an equal list. `now` is in milliseconds since the epoch.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: NewCondition,
  now: number,
): readonly Condition[] {
  const others = (conditions ?? []).filter(({ type }) => type !== condition.type);
  const previous = findCondition(conditions, condition.type);
  const unchanged = previous !== undefined && sameState(previous, condition);
  const lastTransitionTime = unchanged ? previous.lastTransitionTime : wholeSeconds(now);
  return [...others, { ...condition, lastTransitionTime }].toSorted(byType);
}

/** Sets several and then `Ready` as their summary. */
export function setConditions(
  conditions: readonly Condition[] | undefined,
  changes: readonly NewCondition[],
  now: number,
): readonly Condition[] {
  const changed = changes.reduce<readonly Condition[]>(
    (list, change) => setCondition(list, change, now),
    conditions ?? [],
  );
  const summary = summarizeReady(changed);
  return summary === undefined ? changed : setCondition(changed, summary, now);
}

/** Worst first: what `Ready` takes its status, reason and message from. A True weighs more than an Unknown; the wire has it so. */
const order: readonly string[] = ["False/Error", "False/Warning", "False/Info", "True", "Unknown"];

/** `Ready` as the summary of all others; undefined when there are none. */
export function summarizeReady(conditions: readonly Condition[]): NewCondition | undefined {
  const [worst] = conditions
    .filter(({ type }) => type !== ready)
    .map((condition) => (isAlarm(condition) ? { ...condition, status: "False" } : condition))
    .toSorted((left, right) => rank(left) - rank(right) || left.type.localeCompare(right.type));
  if (worst === undefined) return undefined;
  if (worst.status === "True") return trueCondition(ready);
  const { status, severity, reason, message } = worst;
  return { type: ready, status, severity, reason, message };
}

function isAlarm({ type, status }: Condition): boolean {
  return alarms.has(type) && status === "True";
}

/** RFC 3339 in UTC with whole seconds, as metav1.Time prints it. */
export function wholeSeconds(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}

function rank({ status, severity }: Condition): number {
  // Whoever writes False without a severity did not say that it is harmless.
  const key =
    status === "False" ? `False/${severity === undefined || severity === "" ? "Error" : severity}` : status;
  const index = order.indexOf(key);
  return index < 0 ? order.length : index;
}

function sameState(left: NewCondition, right: NewCondition): boolean {
  return (
    left.status === right.status &&
    left.reason === right.reason &&
    left.severity === right.severity &&
    left.message === right.message
  );
}

function byType(left: Condition, right: Condition): number {
  if (left.type === ready || right.type === ready) return left.type === ready ? -1 : 1;
  return left.type < right.type ? -1 : 1;
}
