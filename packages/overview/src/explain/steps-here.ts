/** Judges the stations of a claim's way that its own cluster shows: edited, seen by the agent, written above; status back, Secret. No I/O. */
import type { Step } from "./explanation.ts";
import type { Observed } from "./observed.ts";
import { bindingRemedy, meaningOf, namedClaim, stoppingRemedy } from "./reasons.ts";
import { isForeign } from "./step-foreign.ts";
import { type ObjectView, type Said, saidOf, secretNameOf } from "./view.ts";

/** Begins a message of the konnector about a spec that it did not send. */
const notSentWords = /^the provider has not got this spec yet: /;

/** Returns the condition that keeps the claim from being well: of `Ready`, of `Synced`, or the first one that is False. */
export function troubleOf(claim: ObjectView): Said | undefined {
  const ready = saidOf(claim, "Ready");
  if (ready !== undefined && ready.status !== "True") return ready;
  const synced = saidOf(claim, "Synced");
  if (synced?.status === "False") return synced;
  return ready === undefined ? claim.conditions.find(({ status }) => status === "False") : undefined;
}

/** Returns true if the status may be about an earlier spec and no agent has said so. */
function isBehind({ generation, statusGeneration, conditions, deletedAt }: ObjectView): boolean {
  if (generation === undefined || deletedAt !== undefined) return false;
  const ready = saidOf({ conditions }, "Ready");
  if (ready?.reason === "SpecNotSent" || ready?.reason === "SpecNotObserved") return false;
  const number = ready?.generation ?? statusGeneration;
  return number !== undefined && number < generation;
}

/** The last edit, or the deletion. */
export function editedStep({ claim, from }: Observed): Step {
  const { deletedAt, generation, edited, createdAt } = claim;
  const which = generation === undefined ? "" : `generation ${generation}`;
  if (deletedAt !== undefined)
    return { station: "edited", state: "done", text: "it is being deleted", since: deletedAt, clock: from };
  const by = edited === undefined ? "" : `by ${edited.by}`;
  const text = [which, by].filter((part) => part !== "").join(", ");
  return { station: "edited", state: "done", text, since: edited?.at ?? createdAt, clock: from };
}

/** Tells whether a konnector has looked at this generation. */
export function agentStep(observed: Observed): Step {
  const { claim, from, agent, binding, api } = observed;
  const station = "agent";
  if (from === "control plane") return { station, state: "unknown", text: "ask in the app cluster" };
  const ready = saidOf(claim, "Ready");
  const { isUntouched } = claim;
  if (binding === "missing")
    return {
      station,
      state: "failed",
      text: `${api} is not bound in this cluster, so no agent looks at it`,
      remedy: { who: "operator", next: "kubectl bind" },
    };
  const isRefused = refusalIn(observed.warnings) !== undefined;
  if ((isUntouched && !isRefused) || isBehind(claim)) {
    const isSilent = agent === "silent";
    const text = isSilent
      ? "no konnector works in this cluster"
      : isUntouched
        ? "no konnector has looked at it yet"
        : `no konnector has looked at generation ${claim.generation} yet`;
    const next = isSilent ? "klutch doctor" : "if it lasts for a minute: klutch doctor";
    const who = isSilent ? "operator" : "none";
    return { station, state: isSilent ? "failed" : "waiting", text, remedy: { who, next } };
  }
  if (claim.deletedAt !== undefined && agent === "silent")
    return {
      station,
      state: "failed",
      text: "no konnector works in this cluster that could delete it above",
      remedy: { who: "operator", next: "klutch doctor" },
    };
  return {
    station,
    state: "done",
    text: "",
    since: ready?.reason === "SpecNotSent" ? ready.at : undefined,
    clock: from,
  };
}

/** Tells whether the control plane has this spec, as far as the app cluster shows it. */
export function sentStep(observed: Observed): Step {
  const { claim, from, warnings } = observed;
  const station = "sent";
  if (from === "control plane")
    return { station, state: "done", text: "", since: claim.createdAt, clock: from };
  const ready = saidOf(claim, "Ready");
  if (ready?.reason === "DeletionHeld" || ready?.reason === "CreationHeld") {
    const { remedy } = meaningOf(ready, observed);
    return { station, state: "failed", text: ready.message, since: ready.at, clock: from, remedy };
  }
  if (ready?.reason !== "SpecNotSent") return { station, state: "done", text: "" };
  const text = refusalIn(warnings) ?? saidOfSending(ready);
  const step = { station, text, since: ready.at, clock: from } as const;
  const bad = badBinding(observed);
  if (bad !== undefined) return { ...step, state: "failed", remedy: bindingRemedy(bad.reason, observed.api) };
  const named = namedClaim(observed);
  const stopped = warnings
    .map(({ reason }) => stoppingRemedy(reason, named))
    .find((found) => found !== undefined);
  const told = stopped ?? remedyInWords(text, observed);
  if (told !== undefined) return { ...step, state: "failed", remedy: told };
  return {
    ...step,
    state: "waiting",
    remedy: { who: "none", next: "if it lasts for a minute: klutch doctor" },
  };
}

function saidOfSending({ message }: Said): string {
  return message.replace(notSentWords, "").replace(/; of the one before it said .*$/, "");
}

/** Returns the words of a server that refuses the spec, which stand in an event only; undefined if the newest trouble is another one. */
function refusalIn(warnings: Observed["warnings"]): string | undefined {
  const [newest] = warnings;
  return newest?.reason === "SyncRefused" ? newest.message : undefined;
}

/** Reads the konnector's sentence where neither binding nor events may be read. */
function remedyInWords(text: string, observed: Observed): Step["remedy"] {
  const named = namedClaim(observed);
  if (/does not offer/.test(text)) return stoppingRemedy("NotOffered", named);
  if (/^this cluster may have \d+ /.test(text)) return stoppingRemedy("LimitReached", named);
  if (/refuses the credential|credential is refused/.test(text))
    return bindingRemedy("CredentialRefused", observed.api);
  if (/not been reached|cannot be reached/.test(text))
    return bindingRemedy("ProviderUnreachable", observed.api);
  return undefined;
}

/** Returns the condition of the binding that stops the sync. */
function badBinding({ binding }: Observed): Said | undefined {
  if (binding === undefined || typeof binding === "string") return undefined;
  return binding.found.conditions.find(
    ({ type, status, reason }) => type !== "Ready" && status === "False" && reason !== "Pending",
  );
}

/** Returns what the agent and the binding say although the claim may be well: it can be the state of before. */
export function bindingNotes({ binding, api, agent }: Observed, seen: Step): readonly string[] {
  const silent =
    agent === "silent" && seen.state !== "failed"
      ? ["No konnector works in this cluster; the state is that of before (klutch doctor)."]
      : [];
  if (binding === undefined || typeof binding === "string") return silent;
  const notes = binding.found.conditions.flatMap(({ type, status, reason, message }) => {
    const isAlarm =
      status === "True" && ["CreationHeld", "DeletionHeld", "Stalled", "Unbinding"].includes(type);
    const isFalse = status === "False" && type !== "Ready" && reason !== "Pending";
    if (!isAlarm && !isFalse) return [];
    const { next } = bindingRemedy(reason, api);
    return [`APIServiceBinding ${api}: ${type} ${reason}: ${message} (${next})`];
  });
  return [...silent, ...notes];
}

/** Tells whether the app cluster shows the control plane's answer about this spec. */
export function backStep(observed: Observed, isReadyAbove: boolean | undefined): Step {
  const { claim, from } = observed;
  const station = "back";
  if (from === "control plane") return { station, state: "unknown", text: "ask in the app cluster" };
  const ready = saidOf(claim, "Ready");
  if (claim.deletedAt !== undefined && observed.above?.upstream === "missing")
    return {
      station,
      state: "waiting",
      text: "all above is gone, and the konnector has not let the claim go yet",
      remedy: { who: "none", next: "if it lasts for a minute: klutch doctor" },
    };
  if (ready === undefined)
    return { station, state: claim.conditions.length > 0 ? "done" : "pending", text: "" };
  if (isReadyAbove === true && ready.status === "Unknown")
    return {
      station,
      state: "waiting",
      text: "it is ready in the control plane, and this cluster does not show it yet",
      remedy: { who: "none", next: "if it lasts for a minute: klutch doctor" },
    };
  if (ready.reason === "SpecNotSent" || ready.reason === "SpecNotObserved")
    return { station, state: "pending", text: "" };
  return { station, state: "done", text: `Ready ${ready.status}`, since: claim.reportedAt, clock: from };
}

/** Tells whether the Secret that the claim names is here. */
export function secretStep(observed: Observed): Step {
  const { claim, secret } = observed;
  const station = "secret";
  const ready = saidOf(claim, "Ready");
  const name = secretNameOf(claim);
  if (ready !== undefined && ready.status === "False") {
    const meaning = meaningOf(ready, observed);
    if (meaning.station === station)
      return {
        station,
        state: "failed",
        text: ready.message,
        since: ready.at,
        clock: observed.from,
        remedy: meaning.remedy,
      };
  }
  if (name === undefined) {
    const isSure = ready?.status === "True" && !isForeign(observed);
    return { station, state: "pending", text: isSure ? "the claim names none" : "" };
  }
  const object = `Secret/${name}`;
  if (secret === "present") return { station, state: "done", text: "", object };
  if (secret === "unknown")
    return { station, state: "unknown", text: "its metadata may not be read", object };
  const remedy = { who: "none", next: "if it lasts for a minute: klutch doctor" } as const;
  return { station, state: "waiting", text: "it is not in this cluster yet", object, remedy };
}
