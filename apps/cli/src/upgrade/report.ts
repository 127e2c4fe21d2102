/** Defines the report about a cluster before an upgrade and bounds it: nearly all of its texts come from the cluster. */
import { printable } from "@klutch/api";
import type { NewCondition } from "@klutch/kube-core";

/** One program, package or definition in the cluster. */
export interface Running {
  /** `Kubernetes`, `backend`, `konnector`, `CRD`, … */
  readonly part: string;
  readonly name: string;
  readonly version: string;
  readonly state: string;
}

/** One effect of the upgrade on an object. */
export interface Change {
  readonly object: string;
  /** `breaking` may harm objects that exist; whether it does stands among the obstacles. */
  readonly effect: "compatible" | "breaking";
  readonly change: string;
}

/** One object of an older installation, and whether the upgrade takes it over. */
export interface Inherited {
  readonly object: string;
  readonly outcome: "taken over" | "left";
  readonly what: string;
}

/** One reason not to upgrade yet. */
export interface Obstacle {
  readonly object: string;
  readonly field: string;
  readonly value: string;
  /** Expected value and the next step. */
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

/** Findings of one check. */
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
  /** Number of rows before lists were cut. */
  readonly counts: Readonly<Record<keyof Findings, number>>;
}

/** Maximum number of rows per list. */
const mostRows = 200;
/** Maximum length of each text, in characters. */
const mostCharacters = 400;

/** Returns findings in which all lists are empty except the given ones. */
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

/** Bounds and cleans all texts; the only way from the cluster's texts to the output. */
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
