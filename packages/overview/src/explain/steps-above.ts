/** Judges the stations in the control plane: from its objects if they may be read, else from the words that came down with the claim. No I/O. */
import { dataservicesGroup, namespacedDataservicesGroup } from "@klutch/api";
import type { Remedy, State, Step } from "./explanation.ts";
import type { Above, Composed, Looked, Observed } from "./observed.ts";
import { describingCommand, meaningOf, namedClaim, pausedRemedy } from "./reasons.ts";
import { troubleOf } from "./steps-here.ts";
import { type ObjectView, type Said, saidOf } from "./view.ts";

const clock = "control plane";
const forbidden = "your rights do not show it";

/** Returns the steps from the composite to the broker, in this order, from the claim's own status. */
export function toldSteps(observed: Observed): readonly Step[] {
  const { claim } = observed;
  const trouble = troubleOf(claim) ?? (claim.deletedAt === undefined ? undefined : deleting);
  const { managed } = claim;
  const isMade = managed !== undefined;
  const isReady = saidOf(claim, "Ready")?.status === "True";
  const made: State = isMade ? "done" : isReady ? "unknown" : "pending";
  // Managed resources of other providers have no such state.
  const isProvisioned = managed?.state === "provisioned" || (managed?.state === undefined && isReady);
  const steps: Step[] = [
    { station: "composite", state: made, text: "" },
    { station: "managed", state: made, text: "", since: managed?.createdAt, clock },
    {
      station: "broker",
      state: isMade && !isProvisioned ? "pending" : made,
      ...brokerFacts(observed),
    },
  ];
  if (trouble === undefined) return steps;
  const meaning = meaningOf(trouble, observed);
  const blocked = blockedDeletion(observed);
  // A stranger's composition says nothing of `status.managed`; ours has it once something was composed.
  const isGeneral = ["Waiting", "ReconcileError", "Unavailable"].includes(trouble.reason);
  const station = blocked === undefined ? (isGeneral && isMade ? "broker" : meaning.station) : "broker";
  const order = ["composite", "managed", "broker"];
  const at = order.indexOf(station);
  if (at < 0) return steps;
  // The managed resource's own words are deeper than a general "waiting".
  const deeper = isGeneral && isMade ? troubleOf({ ...claim, conditions: managed.conditions }) : undefined;
  const { at: since, message, reason } = deeper ?? trouble;
  const { state, remedy } = deeper === undefined ? meaning : meaningOf(deeper, observed);
  const text = message === "" ? reason : message;
  return steps.map((step, index) => {
    if (index < at) return { ...step, state: "done" };
    if (index > at) return { ...step, state: "pending" };
    const here = { ...step, state, text, since, clock, remedy } as const;
    return blocked === undefined ? here : { ...here, ...blocked };
  });
}

/** A claim that is being deleted is not done, whatever its conditions of before say. */
const deleting: Said = {
  type: "Ready",
  status: "False",
  reason: "Deleting",
  message: "the control plane is deleting it",
  at: undefined,
  generation: undefined,
};

/** The deletion waits for other claims: said by an event only, because Crossplane does not ask the function any more. */
function blockedDeletion(observed: Observed): Pick<Step, "state" | "text" | "remedy"> | undefined {
  if (observed.claim.deletedAt === undefined) return undefined;
  const found = observed.warnings.find(({ reason }) => reason.startsWith("Still"));
  if (found === undefined) return undefined;
  return { state: "waiting", text: found.message, remedy: meaningOf(found, observed).remedy };
}

function brokerFacts({ claim }: Observed): Pick<Step, "text" | "since" | "clock"> {
  const { state, provisionedAt, updatedAt } = claim.managed ?? {};
  return { text: state ?? "", since: state === "provisioned" ? provisionedAt : updatedAt, clock };
}

/** Corrects the app cluster's words by the upstream object, where that was read. */
export function sentAbove(observed: Observed, here: Step): Step {
  const { above } = observed;
  if (above === undefined || here.state !== "done") return here;
  const { upstream, holdsSpec } = above;
  if (upstream === "forbidden") return here;
  if (upstream === "missing") {
    if (observed.claim.deletedAt !== undefined) return { ...here, text: "it is gone above" };
    const remedy = { who: "operator", next: "klutch doctor" } as const;
    return { ...here, state: "waiting", text: "the control plane has no object for it", remedy };
  }
  const { found } = upstream;
  const object = `${found.kind}/${found.name} in ${found.namespace ?? "the cluster"}`;
  if (holdsSpec === false && observed.claim.deletedAt === undefined) {
    const remedy = { who: "none", next: "if it lasts for a minute: klutch doctor" } as const;
    return { ...here, state: "waiting", text: "the control plane has an earlier spec", object, remedy };
  }
  return { ...here, object, since: found.deletedAt ?? found.syncedAt ?? found.createdAt, clock };
}

/** Returns the steps from the composite to the broker, from the control plane's objects. */
export function seenSteps(observed: Observed, above: Above): readonly Step[] {
  const { upstream } = above;
  if (upstream === "missing" && observed.claim.deletedAt !== undefined)
    return (["composite", "managed", "broker"] as const).map((station) => ({
      station,
      state: "done",
      text: "gone",
    }));
  if (upstream === "missing" || upstream === "forbidden") return toldSteps(observed);
  // The claim's own conditions are judged by their generations already.
  if (!above.isComposed) return toldSteps(observed);
  const composite = compositeStep(observed, above, upstream.found);
  if (above.resources.length > 0)
    return [composite, ...above.resources.flatMap((one) => composedSteps(observed, one, isReadyIn(above)))];
  const told = toldSteps(observed).slice(1);
  if (composite.state !== "done")
    return [composite, ...told.map(({ station }) => ({ station, state: "pending" as const, text: "" }))];
  const nothing = "the Composition has composed nothing yet";
  return [
    composite,
    ...told.map((step) => (step.state === "pending" && step.text === "" ? { ...step, text: nothing } : step)),
  ];
}

const ask = { who: "operator", next: "" } as const;

function compositeStep(observed: Observed, { composite }: Above, upstream: ObjectView): Step {
  const station = "composite";
  if (upstream.isPaused) return paused(station, nameOf(upstream), upstream);
  if (composite === undefined || composite === "missing") {
    const said = saidOf(upstream, "Synced");
    const isRefused = said?.status === "False";
    const text = isRefused ? wordsOf(said) : "Crossplane has made no composite for it yet";
    const next = "in the control plane: kubectl get pods -n crossplane-system";
    const state = isRefused ? "failed" : "waiting";
    return { station, state, text, since: said?.at, clock, remedy: { ...ask, next } };
  }
  if (composite === "forbidden") return { ...firstOf(toldSteps(observed)), text: forbidden };
  const { found } = composite;
  const object = nameOf(found);
  if (found.isPaused || saidOf(found, "Synced")?.reason === "ReconcilePaused")
    return paused(station, object, found);
  const synced = saidOf(found, "Synced");
  const next = `in the control plane: ${describeCommand(found)}`;
  if (synced === undefined) {
    const text =
      "Crossplane has not worked on it: it does not run, or lacks rights on a kind that this needs";
    return {
      station,
      state: "waiting",
      text,
      object,
      since: found.createdAt,
      clock,
      remedy: { ...ask, next },
    };
  }
  if (synced.status !== "False")
    return { station, state: "done", text: "", object, since: found.createdAt, clock };
  const remedy =
    observed.choosesComposition && /Composition\S* "[^"]*" not found/.test(synced.message)
      ? { who: "developer" as const, next: editCommand(observed) }
      : { ...ask, next: hintOf(synced.message) ?? next };
  return { station, state: "failed", text: wordsOf(synced), object, since: synced.at, clock, remedy };
}

/** Names from a server become part of a command only if they are names. */
function describeCommand(found: ObjectView, otherwise = "composite"): string {
  return describingCommand(found) ?? `kubectl get ${otherwise}`;
}

function editCommand(observed: Observed): string {
  const { resource, name, flag } = namedClaim(observed);
  return `kubectl edit ${resource} ${name}${flag}`;
}

/** Next commands for errors of Crossplane that are known. */
function hintOf(message: string): string | undefined {
  if (/no matches for kind/.test(message))
    return "in the control plane: kubectl get providers, and install the missing one";
  if (/no compatible Compositions|cannot (?:fetch|select) Composition/.test(message))
    return "in the control plane: kubectl get compositions --show-labels";
  if (/FunctionRevision|pipeline step/.test(message)) return "in the control plane: kubectl get functions";
  if (/forbidden/.test(message))
    return "in the control plane: give Crossplane the right, by a ClusterRole with the label rbac.crossplane.io/aggregate-to-crossplane";
  return undefined;
}

function paused(station: "composite" | "managed", object: string, found: ObjectView): Step {
  const { at: since } = saidOf(found, "Synced") ?? {};
  return {
    station,
    state: "failed",
    text: "it is paused by the annotation crossplane.io/paused",
    object,
    since,
    clock,
    remedy: pausedRemedy,
  };
}

/** Returns true if Crossplane counts the composite as ready, and with it all that it composes. */
function isReadyIn({ composite }: Above): boolean {
  const isFound = composite !== undefined && typeof composite !== "string";
  return isFound && saidOf(composite.found, "Ready")?.status === "True";
}

/** The managed resource, and the operation at its backend. */
function composedSteps(observed: Observed, one: Composed, isReady: boolean): readonly Step[] {
  const { ref: object } = one;
  const broker = { station: "broker", state: "pending", text: "", object } as const;
  const managed = { station: "managed", object, clock } as const;
  const ofProvider = { ...ask, next: "in the control plane: kubectl get providers" };
  if (one.object === "forbidden") return [{ ...managed, state: "unknown", text: forbidden }];
  if (one.object === "missing")
    return [{ ...managed, state: "waiting", text: "it does not exist yet", remedy: ofProvider }, broker];
  const { found } = one.object;
  const synced = saidOf(found, "Synced");
  if (found.isPaused || synced?.reason === "ReconcilePaused")
    return [paused("managed", object, found), broker];
  const done = { ...managed, state: "done", text: "", since: found.createdAt } as const;
  // A Composition may compose objects without conditions, such as a ConfigMap; the composite is ready with them.
  if (found.conditions.length === 0 && isReady) return [done];
  if (found.conditions.length === 0) {
    const text = "no provider has worked on it: its provider is not installed, or does not run";
    return [{ ...managed, state: "waiting", text, since: found.createdAt, remedy: ofProvider }, broker];
  }
  const isSilent = !isReady && found.deletedAt === undefined && saidOf(found, "Ready") === undefined;
  return [
    done,
    isSilent && synced?.status !== "False"
      ? silentStep(one, found)
      : brokerStep(observed, one, found, synced),
  ];
}

/** A provider worked on it and says nothing about its readiness, for which the composite waits. */
function silentStep({ ref: object }: Composed, found: ObjectView): Step {
  const text = "its provider reports no condition Ready";
  const remedy = { ...ask, next: lookInto(found) };
  return { station: "broker", state: "waiting", text, object, since: found.createdAt, clock, remedy };
}

function lookInto(found: ObjectView): string {
  return `if it lasts, in the control plane: ${describeCommand(found, "managed")}`;
}

function brokerStep(
  observed: Observed,
  { ref: object, config, operation }: Composed,
  found: ObjectView,
  synced: Said | undefined,
): Step {
  const station = "broker";
  const ready = saidOf(found, "Ready");
  const notReady = ready !== undefined && ready.status !== "True" ? ready : undefined;
  const ending = found.deletedAt === undefined ? undefined : { ...deleting, at: found.deletedAt };
  const bad = synced?.status === "False" ? synced : (notReady ?? ending);
  if (isStale(found, synced ?? ready)) {
    const text = `the provider has not looked at generation ${found.generation} of it yet`;
    const remedy = { ...ask, next: "if it lasts for minutes, in the control plane: kubectl get providers" };
    return { station, state: "waiting", text, object, clock, remedy };
  }
  const running = operation === undefined ? "" : `operation ${operation}`;
  if (bad === undefined) return { station, state: "done", text: running, object, since: ready?.at, clock };
  // Any other error of the provider is its operators' to solve.
  const isOurs = bad.reason === "ReconcileError";
  const meaning = meaningOf(isOurs ? { ...bad, reason: "Failed" } : bad, observed);
  const isForeign = ![dataservicesGroup, namespacedDataservicesGroup].includes(found.group);
  const { state } = meaning;
  const said = bad === notReady && isForeign ? foreignWords(bad) : wordsOf(bad);
  const text = [said, running, configWords(config)].filter((part) => part !== "").join("; ");
  const remedy = isForeign
    ? foreignRemedy(found, bad, isOurs ? "operator" : meaning.remedy.who)
    : isOurs
      ? { ...meaning.remedy, who: "operator" as const }
      : meaning.remedy;
  return { station, state, text, object, since: bad.at, clock, remedy };
}

/** Returns the way out for a managed resource of another provider, which has no broker of ours. */
function foreignRemedy(found: ObjectView, bad: Said, usual: Remedy["who"]): Remedy {
  const goesOn = bad.reason === "Deleting" || (bad.reason === "Creating" && bad.message === "");
  return { who: goesOn ? "none" : usual === "broker" ? usual : "operator", next: lookInto(found) };
}

/** Some providers give no reason. */
function foreignWords(bad: Said): string {
  return ["", "Creating", "Unavailable"].includes(bad.reason) && bad.message === ""
    ? `it is not ready${bad.reason === "" ? ", and its provider gives no cause" : ` (${bad.reason})`}`
    : wordsOf(bad);
}

/** A condition without a number gives no evidence. */
function isStale({ generation = 0 }: ObjectView, said: Said | undefined): boolean {
  return said?.generation !== undefined && said.generation < generation;
}

/** The state of the backend, if its own check failed. */
function configWords(config: Looked | undefined): string {
  if (config === "missing") return "the ProviderConfig that it names does not exist";
  if (config === undefined || config === "forbidden") return "";
  const healthy = saidOf(config.found, "Healthy");
  return healthy?.status === "False" ? `${nameOf(config.found)} is not healthy: ${wordsOf(healthy)}` : "";
}

function wordsOf({ reason, message }: Said): string {
  return message === "" ? reason : `${reason}: ${message}`;
}

function nameOf({ kind, name }: ObjectView): string {
  return `${kind}/${name}`;
}

function firstOf(steps: readonly Step[]): Step {
  return steps[0] ?? { station: "composite", state: "unknown", text: "" };
}
