/**
 * Explains why a claim is, or is not, well: `(observed) → explanation`. No I/O, and no clock: times of two clusters are never compared, because
 * their clocks may be hours apart.
 */
import type { Explanation, Remedy, Step, Who } from "./explanation.ts";
import type { Observed } from "./observed.ts";
import { foreignStep, isForeign } from "./step-foreign.ts";
import { seenSteps, sentAbove, toldSteps } from "./steps-above.ts";
import { agentStep, backStep, bindingNotes, editedStep, secretStep, sentStep } from "./steps-here.ts";

/** Returns the way with its cause. */
export function explain(observed: Observed): Explanation {
  const { claim, api, from, usualMs, above } = observed;
  const agent = agentStep(observed);
  const sent = sentAbove(observed, sentStep(observed));
  const lower = [editedStep(observed), agent, isPast(agent) ? sent : pendingOf(sent)];
  const isSent = lower.every(isPast);
  const judged = judgedSteps(observed);
  // Until this spec is there, all above is about an earlier one.
  const upper = isSent ? judged : judged.map((step) => (isPast(step) ? step : pendingOf(step)));
  const isEarlier = !isSent && claim.deletedAt === undefined && upper.some(({ state }) => state === "done");
  const isReadyAbove = above === undefined ? undefined : upper.every(({ state }) => state === "done");
  const ends = [backStep(observed, isReadyAbove), secretStep(observed)];
  const steps = [...lower, ...upper, ...ends];
  const waitsFor = firstOpen(steps);
  const state = waitsFor === undefined ? "well" : waitsFor.state === "failed" ? "failed" : "waiting";
  return {
    kind: claim.kind,
    api,
    namespace: claim.namespace,
    name: claim.name,
    from,
    state,
    steps,
    waitsFor,
    cause: waitsFor?.text ?? "",
    usualSeconds: usualMs === undefined ? undefined : Math.round(usualMs / 1_000),
    notes: [...(isEarlier ? [earlier] : []), ...skewNotes(observed), ...bindingNotes(observed, agent)],
  };
}

function judgedSteps(observed: Observed): readonly Step[] {
  const { above } = observed;
  if (isForeign(observed)) return [foreignStep(observed)];
  return above === undefined ? toldSteps(observed) : seenSteps(observed, above);
}

const earlier = "The steps above are about the spec that the control plane had before.";

function isPast({ state }: Step): boolean {
  return state === "done" || state === "unknown";
}

function pendingOf({ station, object }: Step): Step {
  return { station, state: "pending", text: "", object };
}

/** A step that failed counts before one that waits: what waits may wait for it. */
function firstOpen(steps: readonly Step[]): Step | undefined {
  return steps.find(({ state }) => state === "failed") ?? steps.find(({ state }) => state === "waiting");
}

/** Says for whom a remedy is. */
export const people: Readonly<Record<Who, string>> = {
  developer: "the developer",
  operator: "an operator",
  broker: "the operator of the broker",
  none: "it goes on by itself",
};

/** Returns the remedy; undefined if all is well. */
export function remedyOf({ waitsFor }: Explanation): Remedy | undefined {
  return waitsFor === undefined ? undefined : (waitsFor.remedy ?? { who: "none", next: "" });
}

/** A difference of less is no news. */
const skewMs = 60_000;

/** Tells of clocks that cannot both be right: an answer that is older than its question. */
function skewNotes({ claim, above, from }: Observed): readonly string[] {
  if (from === "control plane" || claim.createdAt === undefined) return [];
  const asked = Date.parse(claim.createdAt);
  const upstream = above?.upstream;
  const isRead = upstream !== undefined && typeof upstream !== "string";
  const made = isRead ? upstream.found.createdAt : claim.managed?.createdAt;
  if (made === undefined) return [];
  const behindMs = asked - Date.parse(made);
  if (behindMs < skewMs) return [];
  return [
    `The control plane made this ${durationText(behindMs)} before it existed here: the clocks of the two clusters differ, or it was adopted. Compare times of one cluster only.`,
  ];
}

/** `45 s`, `12 min`, `5 h`. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
