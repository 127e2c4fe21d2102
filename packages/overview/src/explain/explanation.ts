/** Defines the result of `explain`. */
/** A cluster; its clock is the only one by which times of its objects can be compared. */
export type Side = "app cluster" | "control plane";

/** A station of a claim's way, in this order. `foreign` stands for the three after it where an operator of strangers serves the kind. */
export const stations = [
  "edited",
  "agent",
  "sent",
  "foreign",
  "composite",
  "managed",
  "broker",
  "back",
  "secret",
] as const;
export type Station = (typeof stations)[number];

/** Titles for people. */
export const titles: Readonly<Record<Station, string>> = {
  edited: "edited",
  agent: "seen by the agent",
  sent: "written above",
  foreign: "its operator",
  composite: "composite",
  managed: "managed resource",
  broker: "broker operation",
  back: "status back",
  secret: "Secret",
};

/** `pending`: an earlier step comes first. `unknown`: the caller's rights or this cluster do not show it. */
export type State = "done" | "waiting" | "failed" | "pending" | "unknown";

/** The one who can go on. `none`: it goes on by itself. */
export type Who = "developer" | "operator" | "broker" | "none";

/** A way out. */
export interface Remedy {
  readonly who: Who;
  /** A command or one clause; empty if nothing is to be done. */
  readonly next: string;
}

/** One station of the way, or one of several objects of a station. */
export interface Step {
  readonly station: Station;
  readonly state: State;
  /** One line; may be empty. */
  readonly text: string;
  /** `<kind>/<name>`, if the step is about an object that is not the claim. */
  readonly object?: string | undefined;
  /** RFC 3339, by the clock of `clock`. */
  readonly since?: string | undefined;
  readonly clock?: Side | undefined;
  /** Set while the step is not done. */
  readonly remedy?: Remedy | undefined;
}

/** The way of one claim. */
export interface Explanation {
  readonly kind: string;
  readonly api: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly from: Side;
  readonly state: "well" | "waiting" | "failed";
  readonly steps: readonly Step[];
  /** The step that the claim waits for; undefined if all is well. */
  readonly waitsFor: Step | undefined;
  /** The deepest cause, in one sentence. */
  readonly cause: string;
  /** Whole seconds in which others of the kind became ready. */
  readonly usualSeconds: number | undefined;
  readonly notes: readonly string[];
}
