/**
 * Judges the one station of a kind that Crossplane does not compose: an operator serves it, of which only the object's own conditions are known.
 * No I/O.
 */
import type { Remedy, Step } from "./explanation.ts";
import type { Observed } from "./observed.ts";
import { describingCommand, isOfAgent, isOfKlutch } from "./reasons.ts";
import { type Said, saidOf } from "./view.ts";

/**
 * Returns true if no composite stands behind the claim. The control plane's definition says so; else the conditions: Crossplane writes `Synced` on all
 * that it works on, and a `Ready` in the words of Klutch or Crossplane alone may be of anything.
 */
export function isForeign({ claim, above, choosesComposition }: Observed): boolean {
  if (claim.managed !== undefined) return false;
  if (above !== undefined && !above.isComposed) return true;
  if (choosesComposition || saidOf(claim, "Synced") !== undefined) return false;
  return claim.conditions.some(({ type, reason }) => type !== "Ready" || !isOfKlutch(reason));
}

/** Returns the step. An operator that knows how to say that it gave up says `Stalled`, as kstatus has it. */
export function foreignStep(observed: Observed): Step {
  const { claim, above } = observed;
  const station = "foreign";
  const clock = "control plane";
  if (claim.deletedAt !== undefined)
    return above?.upstream === "missing"
      ? { station, state: "done", text: "gone" }
      : { station, state: "waiting", text: "the control plane is deleting it", remedy: remedyOf(observed) };
  const ready = saidOf(claim, "Ready");
  if (ready?.reason === "SpecNotSent") return { station, state: "pending", text: "" };
  // The konnector's own words about other stations.
  if (ready !== undefined && isOfAgent(ready.reason)) return { station, state: "done", text: "" };
  const stalled = claim.conditions.find(({ type, status }) => type === "Stalled" && status === "True");
  const bad = badConditions(claim.conditions, ready);
  const [first] = stalled === undefined ? bad : [stalled];
  if (first === undefined) return { station, state: "done", text: "", since: ready?.at, clock };
  const text = [...new Set([first, ...bad])].slice(0, mostShown).map(wordsOf).join("; ");
  const state = stalled === undefined ? "waiting" : "failed";
  return { station, state, text, since: first.at, clock, remedy: remedyOf(observed) };
}

/** Most conditions whose words are shown. */
const mostShown = 3;

/** `Ready` decides where there is one; then the others say more. Without it, each that is False counts. */
function badConditions(conditions: readonly Said[], ready: Said | undefined): readonly Said[] {
  if (ready?.status === "True") return [];
  const others = conditions.filter(({ type, status }) => type !== "Ready" && status === "False");
  return ready === undefined ? others : [ready, ...others];
}

function wordsOf({ type, reason, message }: Said): string {
  return [type, reason, message].filter((part) => part !== "").join(": ");
}

function remedyOf({ api, above }: Observed): Remedy {
  const upstream = above?.upstream;
  const command =
    upstream === undefined || typeof upstream === "string" ? undefined : describingCommand(upstream.found);
  return command === undefined
    ? {
        who: "none",
        next: `if it lasts for minutes, ask the operators of the control plane about the operator that serves ${api}`,
      }
    : { who: "operator", next: `in the control plane: ${command}` };
}
