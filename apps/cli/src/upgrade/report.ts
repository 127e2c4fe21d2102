/** What a look at a cluster before an upgrade gives, and how it is bounded: nearly all of its texts are the cluster's. */
import { printable } from "@klutch/api";
import type { NewCondition } from "@klutch/kube-core";

/** Something that runs, or that things run by. */
export interface Running {
  /** `Kubernetes`, `backend`, `konnector`, `CRD`, … */
  readonly part: string;
  readonly name: string;
  readonly version: string;
  readonly state: string;
}

/** What the upgrade would make of an object. */
export interface Change {
  readonly object: string;
  /** `breaking` may harm objects that exist; whether it does stands among the obstacles. */
  readonly effect: "compatible" | "breaking";
  readonly change: string;
}

/** Something that an older installation left, of which the upgrade takes possession or not. */
export interface Inherited {
  readonly object: string;
  readonly outcome: "taken over" | "left";
  readonly what: string;
}

/** What stands against the upgrade. */
export interface Obstacle {
  readonly object: string;
  readonly field: string;
  readonly value: string;
  /** What would be right, and what to do. */
  readonly expected: string;
}

/** A condition that is not True. */
export function conditionObstacle(
  object: string,
  type: string,
  condition: NewCondition | undefined,
): Obstacle {
  const { status, reason = "", message = "" } = condition ?? { status: "absent" };
  const value = `${status} ${reason}${message === "" ? "" : `: ${message}`}`.trim();
  return {
    object,
    field: `status.conditions[${type}]`,
    value,
    expected: "True: mend it first, so that a failure after the upgrade has one cause",
  };
}

/** What one look found. */
export interface Findings {
  readonly running: readonly Running[];
  readonly changes: readonly Change[];
  readonly inherited: readonly Inherited[];
  readonly against: readonly Obstacle[];
  /** Whole sentences. */
  readonly notes: readonly string[];
}

/** The whole: bounded, and fit to be printed. */
export interface Report extends Findings {
  readonly release: string;
  readonly role: string;
  /** How many there were before lists were cut. */
  readonly counts: Readonly<Record<keyof Findings, number>>;
}

/** So many rows of each list are shown. */
const mostRows = 200;
/** So many characters of each text. */
const mostCharacters = 400;

/** Findings of which most lists are empty. */
export function findings(some: Partial<Findings>): Findings {
  return { running: [], changes: [], inherited: [], against: [], notes: [], ...some };
}

/** All of them as one. */
export function together(all: readonly Findings[]): Findings {
  return {
    running: all.flatMap(({ running }) => running),
    changes: all.flatMap(({ changes }) => changes),
    inherited: all.flatMap(({ inherited }) => inherited),
    against: all.flatMap(({ against }) => against),
    notes: all.flatMap(({ notes }) => notes),
  };
}

/** The only way from what a cluster says to what is printed. */
export function reportOf(release: string, role: string, all: Findings): Report {
  return {
    release,
    role,
    running: first(all.running).map(({ part, name, version, state }) => {
      return { part: cut(part), name: cut(name), version: cut(version), state: cut(state) };
    }),
    changes: first(all.changes).map(({ object, effect, change }) => {
      return { object: cut(object), effect, change: cut(change) };
    }),
    inherited: first(all.inherited).map(({ object, outcome, what }) => {
      return { object: cut(object), outcome, what: cut(what) };
    }),
    against: first(all.against).map(({ object, field, value, expected }) => {
      return { object: cut(object), field: cut(field), value: cut(value), expected: cut(expected) };
    }),
    notes: first(all.notes).map(cut),
    counts: {
      running: all.running.length,
      changes: all.changes.length,
      inherited: all.inherited.length,
      against: all.against.length,
      notes: all.notes.length,
    },
  };
}

function first<T>(rows: readonly T[]): readonly T[] {
  return rows.slice(0, mostRows);
}

function cut(text: string): string {
  return printable(text, mostCharacters);
}
