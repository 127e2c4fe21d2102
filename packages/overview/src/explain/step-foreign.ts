/**
 * Judges the one station of a kind that Crossplane does not compose: an operator serves it, of which only the object's own conditions are known.
 * No I/O.
 */
import type { Remedy, Step } from "./explanation.ts";
import type { Observed } from "./observed.ts";
import { describingCommand, edit, isOfAgent, isOfKlutch, namedClaim } from "./reasons.ts";
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

/** Conditions that are True when an operator gave up: `Stalled` as kstatus has it, and that of AWS' controllers, which want another spec then. */
const givenUp = ["ACK.Terminal", "Stalled"];
/** Conditions that are True while something is wrong. */
const troubles = [...givenUp, "ACK.Recoverable"];

/** Returns the step. */
export function foreignStep(observed: Observed): Step {
  const { claim } = observed;
  const station = "foreign";
  const clock = "control plane";
  const ready = saidOf(claim, "Ready");
  if (claim.deletedAt !== undefined) return deletingStep(observed, ready);
  if (ready?.reason === "SpecNotSent") return { station, state: "pending", text: "" };
  // The konnector's own words about other stations.
  if (ready !== undefined && isOfAgent(ready.reason)) return { station, state: "done", text: "" };
  const stalled = claim.conditions.find(({ type, status }) => givenUp.includes(type) && status === "True");
  const bad = badConditions(claim.conditions, ready);
  const [first] = stalled === undefined ? bad : [stalled];
  if (first === undefined) return { station, state: "done", text: "", since: ready?.at, clock };
  const text = [...new Set([first, ...bad])].slice(0, mostShown).map(wordsOf).join("; ");
  const state = stalled === undefined ? "waiting" : "failed";
  const remedy = stalled?.type === "ACK.Terminal" ? edit(namedClaim(observed)) : remedyOf(observed);
  return { station, state, text, since: first.at, clock, remedy };
}

/** Returns the step of a deletion, with the words of the operator, which may hold it. Those of an agent are about the time before. */
function deletingStep(observed: Observed, ready: Said | undefined): Step {
  const { claim, above } = observed;
  const station = "foreign";
  if (above?.upstream === "missing") return { station, state: "done", text: "gone" };
  const isOperators = ready === undefined || !isOfAgent(ready.reason);
  // AWS' controllers do not touch the condition of before.
  const told = claim.conditions.filter(({ type, status }) => troubles.includes(type) && status === "True");
  const bad = [...told, ...(isOperators ? badConditions(claim.conditions, ready) : [])].map(wordsOf);
  const text = ["the control plane is deleting it", ...new Set(bad)].slice(0, mostShown).join("; ");
  return { station, state: "waiting", text, remedy: remedyOf(observed) };
}

/** Most conditions whose words are shown. */
const mostShown = 3;

/** `Ready` decides where there is one; then those that are False say more. Without it, each that is False or Unknown counts. */
function badConditions(conditions: readonly Said[], ready: Said | undefined): readonly Said[] {
  if (ready?.status === "True") return [];
  const others = conditions.filter(({ type, status }) => type !== "Ready" && status === "False");
  if (ready !== undefined) return [ready, ...others];
  return [...others, ...conditions.filter(({ status }) => status === "Unknown")];
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
