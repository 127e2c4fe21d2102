/**
 * The decision for one pair of objects: what to write, given what both clusters show. Deterministic, no I/O; carrying the plan out and
 * asking again leads to an empty plan.
 *
 * | consumer  | provider          | plan |
 * |-----------|-------------------|------|
 * | –         | – or deleting     | nothing |
 * | –         | bound             | orphan: interlock (orphans.ts), never a delete by itself |
 * | –         | not bound         | adopt: create the consumer's object |
 * | deleting  | – (cache)         | confirm live, then release the finalizer |
 * | deleting  | bound             | delete it, keep the finalizer; hold it while deletions are held; write status |
 * | deleting  | deleting          | write status, wait |
 * | deleting  | not bound         | not ours: release the finalizer, leave it |
 * | alive     | namespace unmapped| ask for the mapping, wait |
 * | alive     | – and not offered | say so, wait |
 * | alive     | – and the claim had one before a restore | say so, wait for a person |
 * | alive     | – and refused for the limit | say so, wait |
 * | alive     | deleting          | write status, wait until it is gone, then recreate |
 * | alive     | other tenant's, or another claim's | hold |
 * | alive     | – or alive        | finalizer, apply if needed, write status if different |
 */
import { clusterNamespaceAnnotation, restoredAnnotation, syncerFinalizer } from "@klutch/api";
import { type DynamicObject, isDeleting, jsonEqual, type ObjectRef, refOfObject } from "@klutch/kube-core";
import { adoptedContent } from "./adoption.ts";
import {
  type AppliedRecord,
  isBound,
  isToBeNamed,
  legacyRemoval,
  markOn,
  needsApply,
  providerContent,
  specMark,
} from "./content.ts";
import { type HeldCreations, releasesCreation } from "./held-creation.ts";
import type { MetadataRule } from "./metadata-rules.ts";
import { type Isolation, type Mapping, providerRefOf, type Tenant } from "./namespaces.ts";
import { statusRecordOf } from "./neutral-status.ts";
import { isFresh } from "./status-conditions.ts";
import { projectStatus, type StatusCase } from "./status-projection.ts";
import type { MissingSecret } from "./taken-secret.ts";
import type { StatusView } from "./status-view.ts";
import { wasUpstream } from "./upstream-evidence.ts";
import { type Waiting, wordsOf } from "./waiting.ts";

/** Everything the decision depends on. */
export interface ObservedPair {
  /** The consumer's reference, also when the object is not there. */
  readonly ref: ObjectRef;
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
  readonly mapping: Mapping;
  readonly tenant: Tenant;
  readonly rule: MetadataRule;
  /** View of the generations that the claim's schema lets its status show. */
  readonly view: StatusView;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number;
  /** The Secret with the claim's credentials, if the app cluster cannot have it. Default: none. */
  readonly missingSecret?: MissingSecret | undefined;
  /** The API that the provider does not offer any more, so that it makes no new objects of it. Default: it is offered. */
  readonly withdrawn?: string | undefined;
  /** Says how many objects of the API the app cluster may have, after the provider refused this one for that. Default: it did not. */
  readonly limitReached?: string | undefined;
  /** The provider refused this one because it has not counted yet for a new limit. Default false. */
  readonly quotaNotCounted?: boolean | undefined;
  /** Words for why the provider cannot be used at present, which do not change while that lasts. Default: it can be. */
  readonly away?: string | undefined;
  /** The claim has waited so long that its status is to say so. Default false. */
  readonly isOverdue?: boolean | undefined;
  /** For cluster-scoped resources. Default `Prefixed`. */
  readonly isolation?: Isolation | undefined;
  /** Key of `provider`, existing or new. Default: where the isolation puts new ones. */
  readonly target?: ObjectRef | undefined;
  /** Keys under which an object of this claim could exist and the cache shows none. Default: `target`, while there is no `provider`. */
  readonly unseen?: readonly ObjectRef[] | undefined;
  /** `provider` serves another claim. Default false. */
  readonly isOthers?: boolean | undefined;
  /** The claim has this upstream object, too. */
  readonly second?: ObjectRef | undefined;
  /** Says why the claim's upstream deletion is held, in a sentence of the binding's condition. Default: it is not. */
  readonly deletionHeld?: string | undefined;
  /** A restore of the provider that no person has answered: claims that had an object get no new one. Default: none. */
  readonly creationsHeld?: HeldCreations | undefined;
  /** Results of earlier writes of this process. */
  readonly applied?: AppliedRecord | undefined;
  readonly lastWrittenStatus?: AppliedRecord | undefined;
}

/** One write. They are carried out stage by stage (`stagesOf`); the first failure ends the plan. */
export type Step =
  | { readonly do: "createMapping"; readonly consumerNamespace: string }
  /** Finalizer and `bound` mark by server-side apply; `uid` keeps it from creating an object. */
  | { readonly do: "addFinalizer"; readonly ref: ObjectRef; readonly uid: string }
  | { readonly do: "applyProvider"; readonly content: DynamicObject; readonly uid: string | undefined }
  | { readonly do: "patchProvider"; readonly ref: ObjectRef; readonly patch: object }
  /** `inForeground`: it stays until all that it owns is gone. */
  | {
      readonly do: "deleteProvider";
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly inForeground?: true | undefined;
    }
  /** Only after live reads show that nothing is at these places. */
  | {
      readonly do: "removeFinalizer";
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly confirmGone: readonly ObjectRef[];
    }
  | { readonly do: "writeStatus"; readonly ref: ObjectRef; readonly uid: string; readonly status: unknown }
  | { readonly do: "createConsumer"; readonly content: DynamicObject }
  /** Releases the fields of a claim that we created, except our marks, so that its user can apply it. */
  | { readonly do: "handOverConsumer"; readonly ref: ObjectRef; readonly uid: string }
  /** Unbinding: our finalizer and mark go from the claim, which lives on as a plain object. */
  | { readonly do: "unmarkConsumer"; readonly ref: ObjectRef; readonly uid: string }
  /** Unbinding with policy Delete. */
  | { readonly do: "deleteConsumer"; readonly ref: ObjectRef; readonly uid: string };

/** The decision. Without steps and without `waiting` the pair is in sync. */
export interface PairPlan {
  readonly steps: readonly Step[];
  readonly waiting?: Waiting | undefined;
  /** The status is to say what the claim waits for when that is overdue: ask again then. Default false. */
  readonly awaitsStatus?: boolean | undefined;
}

const nothing: PairPlan = { steps: [] };

/**
 * The stages of a plan, one after the other. The steps of a stage go out side by side: a new claim's marks and its first upstream object, which
 * go to two servers (designs/0021-side-by-side.md).
 */
export function stagesOf(steps: readonly Step[]): readonly (readonly Step[])[] {
  const [first, second, ...others] = steps;
  if (first === undefined) return [];
  const isPair = first.do === "addFinalizer" && second?.do === "applyProvider" && second.uid === undefined;
  if (isPair) return [[first, second], ...stagesOf(others)];
  return [[first], ...stagesOf(steps.slice(1))];
}

/** Decides for one pair. */
export function planPair(observed: ObservedPair): PairPlan {
  const { consumer } = observed;
  if (consumer === undefined) return planWithoutConsumer(observed);
  return isDeleting(consumer) ? planDeletion(observed, consumer) : planAlive(observed, consumer);
}

/** The decision for a pair of which only the status is known to differ. What the claim shows need not be known. */
export function planStatusOnly({
  ref,
  consumer,
  provider,
  view,
  now,
}: Pick<ObservedPair, "ref" | "consumer" | "provider" | "view" | "now">): PairPlan {
  if (consumer === undefined || provider === undefined) return nothing;
  const status = projectStatus({ view, claim: consumer, provider, notSent: undefined, now });
  return status === undefined ? nothing : { steps: [writeStatus(ref, consumer, status)] };
}

/**
 * What follows at once from the provider's answer to an apply: its status is not about the spec that it has just got, and a claim that was
 * ready must not say so until the next event comes.
 */
export function planAnswered(observed: ObservedPair, answer: DynamicObject): readonly Step[] {
  const { consumer } = observed;
  if (consumer === undefined || isDeleting(consumer) || isDeleting(answer)) return [];
  return isFirst(consumer, answer) ? [] : planStatus(observed, consumer, answer, wrongMark(observed, answer));
}

function planWithoutConsumer(observed: ObservedPair): PairPlan {
  const { ref, provider, rule } = observed;
  if (provider === undefined || isDeleting(provider) || isForeign(observed)) return nothing;
  if (isBound(provider)) return { steps: [], waiting: "orphanConfirmation" };
  return { steps: [{ do: "createConsumer", content: adoptedContent(provider, ref, rule) }] };
}

/**
 * Crossplane lets go of a composite at once, and its garbage collector deletes what the composite is made of some time later. The claim
 * would be gone while its database is still there.
 */
function isComposite({ metadata }: DynamicObject): boolean {
  return metadata.finalizers?.includes("composite.apiextensions.crossplane.io") === true;
}

function planDeletion(observed: ObservedPair, consumer: DynamicObject): PairPlan {
  const { ref, provider, mapping } = observed;
  const held = consumer.metadata.finalizers?.includes(syncerFinalizer) === true;
  const uid = consumer.metadata.uid ?? "";
  if (provider !== undefined && isBound(provider) && !isForeign(observed)) {
    const { deletionHeld } = observed;
    const isHeld = deletionHeld !== undefined && !isDeleting(provider);
    const status = planStatus(observed, consumer, provider, undefined, {
      deletionHeld: isHeld ? deletionHeld : undefined,
    });
    if (isDeleting(provider)) return { steps: status, waiting: "providerDeletion" };
    if (isHeld) return { steps: status, waiting: "deletionHeld" };
    const step: Step = {
      do: "deleteProvider",
      ref: refOfObject(provider),
      uid: provider.metadata.uid ?? "",
      ...(isComposite(provider) ? { inForeground: true } : {}),
    };
    return { steps: [step, ...status], waiting: "providerDeletion" };
  }
  if (!held) return nothing;
  if (ref.namespace !== undefined && mapping.state === "pending") return { steps: [], waiting: "mapping" };
  // A cache that has not seen an object proves nothing; one that shows somebody else's object does.
  const target = provider === undefined ? targetOf(observed) : undefined;
  const confirmGone = observed.unseen ?? (target === undefined ? [] : [target]);
  return { steps: [{ do: "removeFinalizer", ref, uid, confirmGone }] };
}

/**
 * Asks once for the obstacle that keeps the claim's spec from being sent, once for the upstream writes, and once for the claim's status.
 * The status of a spec that is not sent is news only when that takes long; then it says why.
 */
function planAlive(observed: ObservedPair, consumer: DynamicObject): PairPlan {
  const { ref, provider, mapping, isOverdue = false } = observed;
  const target = targetOf(observed);
  const obstacle = obstacleOf(observed, consumer, target);
  const isFree = target !== undefined && obstacle === undefined;
  const writes = isFree ? planUpstream(observed, consumer, target) : [];
  const isSent = isFree && provider !== undefined && writes.length === 0;
  const shown = isSent || obstacle === "providerReplacement" ? provider : undefined;
  const notSent = notSentWordsOf(obstacle, observed);
  // The status of a spec that is being sent follows from the provider's answer.
  const status =
    isFree && !isSent && !isOverdue
      ? []
      : planStatus(observed, consumer, shown, isSent ? wrongMark(observed, provider) : notSent, {
          creationHeld: obstacle === "creationHeld" ? observed.creationsHeld : undefined,
        });
  const isNews =
    isOverdue ||
    obstacle === "providerReplacement" ||
    obstacle === "notOffered" ||
    obstacle === "creationHeld" ||
    obstacle === "limitReached" ||
    obstacle === "quotaNotCounted" ||
    (isSent && !isFirst(consumer, provider));
  const waiting = obstacle ?? (observed.second === undefined ? undefined : "secondObject");
  return {
    steps: [
      ...(isFree ? planMarks(observed, consumer) : []),
      // Before what needs the provider: while it is away, the first failure ends the plan.
      ...(isNews ? status : []),
      ...(obstacle === "mapping" && mapping.state === "missing"
        ? [{ do: "createMapping", consumerNamespace: ref.namespace ?? "" } as const]
        : []),
      ...writes,
    ],
    ...(waiting === undefined ? {} : { waiting }),
    ...(status.length > 0 && !isNews ? { awaitsStatus: true } : {}),
  };
}

const unsentWords = "the provider has not taken this change yet; it is tried again";

/** Says why the spec is not at the provider. What only the provider can do waits for it while it is away. */
function notSentWordsOf(obstacle: Waiting | undefined, observed: ObservedPair): string {
  if (obstacle === undefined) return observed.away ?? unsentWords;
  return obstacle === "mapping"
    ? (observed.away ?? wordsOf(obstacle, observed))
    : wordsOf(obstacle, observed);
}

/** Returns what keeps the claim's spec from being sent to the provider. */
function obstacleOf(
  observed: ObservedPair,
  consumer: DynamicObject,
  target: ObjectRef | undefined,
):
  | "mapping"
  | "foreignObject"
  | "providerReplacement"
  | "notOffered"
  | "creationHeld"
  | "limitReached"
  | "quotaNotCounted"
  | undefined {
  const { provider, withdrawn, limitReached, quotaNotCounted, creationsHeld } = observed;
  if (target === undefined) return "mapping";
  if (provider === undefined && withdrawn !== undefined) return "notOffered";
  if (provider === undefined && creationsHeld !== undefined && mayHoldData(consumer, creationsHeld))
    return "creationHeld";
  if (provider === undefined && limitReached !== undefined) return "limitReached";
  if (provider === undefined && quotaNotCounted === true) return "quotaNotCounted";
  if (isForeign(observed)) return "foreignObject";
  return provider !== undefined && isDeleting(provider) ? "providerReplacement" : undefined;
}

/** Returns true if the claim had an upstream object, and no person has accepted another one in its place. */
function mayHoldData(consumer: DynamicObject, { since }: HeldCreations): boolean {
  return wasUpstream(consumer) && !releasesCreation(consumer, since);
}

/** Our marks on the claim. */
function planMarks({ ref }: ObservedPair, { metadata }: DynamicObject): readonly Step[] {
  const { uid = "", finalizers, annotations } = metadata;
  const steps: Step[] = [];
  if (finalizers?.includes(syncerFinalizer) !== true) steps.push({ do: "addFinalizer", ref, uid });
  if (annotations?.[restoredAnnotation] !== undefined) steps.push({ do: "handOverConsumer", ref, uid });
  return steps;
}

/** Writes that bring the claim's content to the provider; none when it has it. */
function planUpstream(
  { provider, applied, tenant, rule, isolation }: ObservedPair,
  consumer: DynamicObject,
  target: ObjectRef,
): readonly Step[] {
  const wanted = providerContent(consumer, target, tenant, rule, isToBeNamed(isolation, provider));
  const steps: Step[] = [];
  const removal = provider === undefined ? undefined : legacyRemoval(wanted, provider);
  if (removal !== undefined) steps.push({ do: "patchProvider", ref: target, patch: removal });
  if (needsApply(wanted, provider, applied))
    steps.push({ do: "applyProvider", content: wanted, uid: provider?.metadata.uid });
  return steps;
}

function targetOf({ target, tenant, ref, mapping, isolation }: ObservedPair): ObjectRef | undefined {
  return target ?? providerRefOf(tenant, ref, mapping, isolation);
}

/**
 * Status: the claim shows that of `provider`, in its own generations. An upstream object that was just made has none yet; what the claim
 * shows stays until the new one arrives, but no longer as news of its spec. `notSent`: why the provider has not got that, if it has not.
 * `held`: what a person has to decide, if there is anything.
 */
function planStatus(
  { ref, view, now, missingSecret, lastWrittenStatus }: ObservedPair,
  consumer: DynamicObject,
  provider: DynamicObject | undefined,
  notSent: string | undefined,
  held: Pick<StatusCase, "deletionHeld" | "creationHeld"> = {},
): readonly Step[] {
  const status = projectStatus({
    view,
    claim: consumer,
    provider,
    notSent,
    missingSecret,
    ...held,
    now,
  });
  if (status === undefined || jsonEqual(consumer.status, status)) return [];
  const { wanted, observed } = statusRecordOf(consumer, status, consumer.status, view);
  if (lastWrittenStatus?.wanted === wanted && lastWrittenStatus.observed === observed) return [];
  return [writeStatus(ref, consumer, status)];
}

/** Returns true if the provider has no status yet, and the claim shows none. */
function isFirst(consumer: DynamicObject, provider: DynamicObject): boolean {
  return provider.status === undefined && (consumer.status === undefined || isFresh(consumer.status));
}

/** Somebody on the provider changes marks, so that echoes prove nothing. */
function wrongMark({ consumer, view }: ObservedPair, provider: DynamicObject): string | undefined {
  const mark = markOn(provider);
  const isRight = mark === undefined || (consumer !== undefined && mark === specMark(consumer));
  return isRight || view.isIgnored ? undefined : "the provider's object bears the mark of another spec";
}

function writeStatus(ref: ObjectRef, consumer: DynamicObject, status: unknown): Step {
  return { do: "writeStatus", ref, uid: consumer.metadata.uid ?? "", status };
}

/** A cluster-scoped provider object without our tenant's mark belongs to somebody else, whatever its name says. */
export function isForeign({ provider, ref, tenant, isOthers }: ObservedPair): boolean {
  if (provider === undefined) return false;
  return (
    isOthers === true ||
    (ref.namespace === undefined &&
      provider.metadata.namespace === undefined &&
      provider.metadata.annotations?.[clusterNamespaceAnnotation] !== tenant.namespace)
  );
}
