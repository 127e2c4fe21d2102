/**
 * Compares the conclusions that tools draw from a claim's status with the provider's real work: a claim that they take for current is one
 * whose spec its provider has worked on. The rules are those of kstatus, of `kubectl wait`, and ours.
 *
 * | | seen | judged |
 * |---|---|---|
 * | 1 | `deletionTimestamp` | terminating |
 * | 2 | `status.observedGeneration` unequal | in progress |
 * | 3 | `Ready` False or Unknown | in progress |
 * | 4 | `Stalled` True, `Reconciling` True | failed, in progress |
 * | 5 | no status, where the schema has the number | in progress |
 * | 6 | `Ready` True and an equal number | current: then the provider worked on that spec |
 * | 7 | a condition that we make | has a reason and a time |
 * | 8 | any number | is not above `metadata.generation` |
 */
import { type DynamicObject, numberAt, recordsAt } from "@klutch/kube-core";

/** A tool's verdict on an object. `unknown`: it shows no status yet, and its schema has no `status.observedGeneration`. */
export type Verdict = "terminating" | "failed" | "inProgress" | "current" | "unknown";

/** Judges a claim. `hasNumber`: its schema has `status.observedGeneration`. */
export function judgeStatus({ metadata, status }: DynamicObject, hasNumber: boolean): Verdict {
  if (metadata.deletionTimestamp !== undefined) return "terminating";
  const number = numberAt(status, "observedGeneration");
  if (hasNumber && number === undefined) return "inProgress";
  if (number !== undefined && number !== metadata.generation) return "inProgress";
  const conditions = recordsAt(status, "conditions");
  const statusOf = (type: string): unknown => conditions.find((one) => one["type"] === type)?.["status"];
  if (statusOf("Stalled") === "True") return "failed";
  if (statusOf("Reconciling") === "True") return "inProgress";
  const ready = conditions.find((one) => one["type"] === "Ready");
  if (ready === undefined) return status === undefined ? "unknown" : "inProgress";
  // `kubectl wait` asks the condition's own number, too.
  const own = numberAt(ready, "observedGeneration");
  if (own !== undefined && own !== metadata.generation) return "inProgress";
  return ready["status"] === "True" ? "current" : "inProgress";
}

/** Lists the faults of a claim's numbers and of conditions that we made; rules 7 and 8. */
export function* flawsOf({ metadata, status }: DynamicObject): Iterable<string> {
  const { generation = 0 } = metadata;
  const conditions = recordsAt(status, "conditions");
  for (const holder of [status, ...conditions]) {
    const number = numberAt(holder, "observedGeneration");
    if (number !== undefined && number > generation)
      yield `observedGeneration ${number} is above the generation ${generation}`;
  }
  for (const { type, reason, lastTransitionTime } of conditions) {
    const isMade = reason === "SpecNotSent" || reason === "SpecNotObserved";
    if (isMade && typeof lastTransitionTime !== "string") yield `${String(type)} has no time`;
  }
}

/** Keeps the specs that the provider's controllers worked on at each place, and when. Times are virtual. */
export class WorkLedger {
  readonly #work = new Map<string, { readonly at: number; readonly spec: string }[]>();

  /** Records work on `spec`; undefined: the object is gone. */
  worked(place: string, spec: string | undefined, at: number): void {
    const done = this.#work.get(place) ?? [];
    done.push({ at, spec: spec ?? "" });
    this.#work.set(place, done);
  }

  /** Tells whether the last work before `since`, or any work after it, was on this spec. */
  isWorkedOn(place: string, spec: string, since: number): boolean {
    const done = this.#work.get(place) ?? [];
    const before = done.findLast(({ at }) => at <= since);
    return before?.spec === spec || done.some((one) => one.at > since && one.spec === spec);
  }
}
