/** Says to the author of a claim why Crossplane cannot make what the claim asks for. Pure: from a composite to one bounded sentence. */
import { plainText } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, textAt, valueAt } from "@klutch/kube-core";

/** A composite as far as its claim's words depend on it. */
export interface Composite {
  readonly metadata: Pick<DynamicObject["metadata"], "name" | "resourceVersion" | "deletionTimestamp">;
  /** `namespace/name`; undefined for a composite without a claim. */
  readonly claim: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Its condition `Synced`, if it has one. */
  readonly synced: SyncedState | undefined;
}

interface SyncedState {
  readonly isFalse: boolean;
  /** True if a person told Crossplane to leave the composite alone. */
  readonly isPaused: boolean;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Words for the claim, and when to judge again if they may follow from time alone. */
export interface Cause {
  readonly message: string | undefined;
  readonly againInMs?: number | undefined;
}

/** A failure that passes within this time, such as one of a function that is being replaced, is no news. */
const settleMs = 10_000;
/** Without any word for this long Crossplane does not work on the composite: without rights on a kind it does not even say so. */
const silentMs = 60_000;
const messageLimit = 800;

/** Reads what a server sent of a composite. */
export function compositeOf(object: DynamicObject): Composite {
  const { name, resourceVersion, deletionTimestamp, creationTimestamp } = object.metadata;
  const namespace = textAt(object, "spec", "claimRef", "namespace");
  const claim = textAt(object, "spec", "claimRef", "name");
  const synced = findCondition(conditionsOf(object), "Synced");
  return {
    metadata: { name, resourceVersion, deletionTimestamp },
    claim: namespace === undefined || claim === undefined ? undefined : `${namespace}/${claim}`,
    createdAt: Date.parse(creationTimestamp ?? ""),
    synced:
      synced === undefined
        ? undefined
        : {
            isFalse: synced.status === "False",
            isPaused: synced.reason === "ReconcilePaused",
            message: plainText(synced.message ?? "", messageLimit),
            since: Date.parse(textAt(valueAt(synced, "lastTransitionTime")) ?? ""),
          },
  };
}

/** Judges at the time `now`. */
export function causeOf({ metadata, synced, createdAt }: Composite, now: number): Cause {
  if (metadata.deletionTimestamp !== undefined) return { message: undefined };
  if (synced === undefined) {
    const leftMs = createdAt + silentMs - now;
    if (leftMs > 0) return { message: undefined, againInMs: leftMs + 1_000 };
    return {
      message: `Crossplane has not worked on this since it was created: it does not run, or it lacks rights on a kind that this needs. ${askTheTeam}`,
    };
  }
  if (!synced.isFalse) return { message: undefined };
  const leftMs = synced.since + settleMs - now;
  if (leftMs > 0) return { message: undefined, againInMs: leftMs + 1_000 };
  return { message: synced.isPaused ? pausedWords : wordsOf(synced.message) };
}

const askTheTeam = "Ask the platform team";
const pausedWords = `The platform has paused this, by the annotation crossplane.io/paused of its composite. ${askTheTeam}`;

/** Puts what a developer can do, or cannot, before what Crossplane said. */
function wordsOf(message: string): string {
  const said = withoutPlaces(message);
  const kind = /no matches for kind "([^"]+)" in version "([^"]+)"/.exec(said);
  if (kind !== null)
    return `The platform cannot make this: its control plane does not have the kind ${kind[1]} (${kind[2]}), so a provider is missing there. ${askTheTeam}`;
  if (/cannot (select|fetch|get referenced) Composition|no compatible Compositions/i.test(said))
    return `The platform cannot make this: no Composition fits. If the claim names one (compositionRef), correct the name; else ask the platform team. Crossplane says: ${said}`;
  if (/forbidden/i.test(said))
    return `The platform cannot make this: Crossplane lacks rights there. ${askTheTeam}. Crossplane says: ${said}`;
  const step = /pipeline step "([^"]+)"/.exec(said)?.[1];
  const absent = /Function "([^"]+)": cannot find an active FunctionRevision/.exec(said)?.[1];
  if (absent !== undefined)
    return `The platform cannot make this: the function ${absent} of step ${step ?? "?"} is not installed there, or not healthy. ${askTheTeam}`;
  if (step !== undefined)
    return `The platform cannot make this at present: step ${step} of its Composition failed. It is tried again; if it lasts, ask the platform team. Crossplane says: ${said}`;
  return `The platform cannot make this at present. Crossplane tries again; if it lasts, ask the platform team. Crossplane says: ${said}`;
}

/** Names of the control plane's accounts, namespaces and addresses say nothing to a developer, and are not for every tenant. */
function withoutPlaces(said: string): string {
  return said
    .replaceAll(/"?system:serviceaccount:[a-z0-9.-]+:[a-z0-9.-]+"?/g, "of Crossplane")
    .replaceAll(/ in (?:the )?namespace "[^"]*"/g, "")
    .replaceAll(/lookup [^\s:]+(?: on [0-9a-f.:[\]]*[0-9])?/g, "lookup of its address");
}
