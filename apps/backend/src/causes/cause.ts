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
    return { message: `Crossplane has not worked on this since it was created. ${askTheTeam}` };
  }
  if (!synced.isFalse) return { message: undefined };
  const leftMs = synced.since + settleMs - now;
  if (leftMs > 0) return { message: undefined, againInMs: leftMs + 1_000 };
  return { message: wordsOf(synced.message) };
}

const askTheTeam = "Ask the platform team";

/** Puts what a developer can do, or cannot, before what Crossplane said. */
function wordsOf(said: string): string {
  const kind = /no matches for kind "([^"]+)" in version "([^"]+)"/.exec(said);
  if (kind !== null)
    return `The platform cannot make this: its control plane does not have the kind ${kind[1]} (${kind[2]}), so a provider is missing there. ${askTheTeam}`;
  if (/cannot (select|fetch|get referenced) Composition|no compatible Compositions/i.test(said))
    return `The platform cannot make this: no Composition fits. If the claim names one (compositionRef), correct the name; else ask the platform team. Crossplane says: ${said}`;
  if (/forbidden/i.test(said))
    return `The platform cannot make this: Crossplane lacks rights there. ${askTheTeam}. Crossplane says: ${said}`;
  return `The platform cannot make this at present. Crossplane tries again; if it lasts, ask the platform team. Crossplane says: ${said}`;
}
