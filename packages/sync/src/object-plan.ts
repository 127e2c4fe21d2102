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
 * | deleting  | bound             | delete it, keep the finalizer; hold it while deletions are held |
 * | deleting  | deleting          | wait |
 * | deleting  | not bound         | not ours: release the finalizer, leave it |
 * | alive     | namespace unmapped| ask for the mapping, wait |
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
  isSettled,
  isToBeNamed,
  legacyRemoval,
  needsApply,
  providerContent,
} from "./content.ts";
import type { MetadataRule } from "./metadata-rules.ts";
import { type Isolation, type Mapping, providerRefOf, type Tenant } from "./namespaces.ts";

/** Everything the decision depends on. */
export interface ObservedPair {
  /** The consumer's reference, also when the object is not there. */
  readonly ref: ObjectRef;
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
  readonly mapping: Mapping;
  readonly tenant: Tenant;
  readonly rule: MetadataRule;
  /** For cluster-scoped resources. Default `Prefixed`. */
  readonly isolation?: Isolation | undefined;
  /** Where `provider` stands, or will stand. Default: where the isolation puts new ones. */
  readonly target?: ObjectRef | undefined;
  /** Where an object of this claim could stand and the cache shows none. Default: `target`, while there is no `provider`. */
  readonly unseen?: readonly ObjectRef[] | undefined;
  /** `provider` serves another claim. Default false. */
  readonly isOthers?: boolean | undefined;
  /** The claim has this upstream object, too. */
  readonly second?: ObjectRef | undefined;
  /** Upstream deletions are held: the breaker tripped, or the CRD itself is being deleted. Default false. */
  readonly deletionsHeld?: boolean | undefined;
  /** What earlier writes of this process left behind. */
  readonly applied?: AppliedRecord | undefined;
  readonly lastWrittenStatus?: AppliedRecord | undefined;
}

/** One write. They are carried out in order; the first failure ends the plan. */
export type Step =
  | { readonly do: "createMapping"; readonly consumerNamespace: string }
  /** Finalizer and `bound` mark by server-side apply; `uid` keeps it from creating an object. */
  | { readonly do: "addFinalizer"; readonly ref: ObjectRef; readonly uid: string }
  | { readonly do: "applyProvider"; readonly content: DynamicObject; readonly uid: string | undefined }
  | { readonly do: "patchProvider"; readonly ref: ObjectRef; readonly patch: object }
  | { readonly do: "deleteProvider"; readonly ref: ObjectRef; readonly uid: string }
  /** Only after live reads show that nothing is at these places. */
  | {
      readonly do: "removeFinalizer";
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly confirmGone: readonly ObjectRef[];
    }
  | { readonly do: "writeStatus"; readonly ref: ObjectRef; readonly uid: string; readonly status: unknown }
  | { readonly do: "createConsumer"; readonly content: DynamicObject }
  /** Of a claim that we made, all but our marks becomes nobody's, so that its user can apply it. */
  | { readonly do: "handOverConsumer"; readonly ref: ObjectRef; readonly uid: string }
  /** Unbinding: our finalizer and mark go from the claim, which lives on as a plain object. */
  | { readonly do: "unmarkConsumer"; readonly ref: ObjectRef; readonly uid: string }
  /** Unbinding with policy Delete. */
  | { readonly do: "deleteConsumer"; readonly ref: ObjectRef; readonly uid: string };

/** What a pair waits for; shown to people as an event on the claim. */
export type Waiting =
  | "mapping"
  | "providerDeletion"
  | "providerReplacement"
  | "orphanConfirmation"
  | "deletionHeld"
  | "foreignObject"
  /** Not really: the pair is in sync, and a second upstream object is left alone. */
  | "secondObject";

/** The decision. Without steps and without `waiting` the pair is in sync. */
export interface PairPlan {
  readonly steps: readonly Step[];
  readonly waiting?: Waiting | undefined;
}

const nothing: PairPlan = { steps: [] };

/** Decides for one pair. */
export function planPair(observed: ObservedPair): PairPlan {
  const { consumer } = observed;
  if (consumer === undefined) return planWithoutConsumer(observed);
  return isDeleting(consumer) ? planDeletion(observed, consumer) : planAlive(observed, consumer);
}

/** The decision for a pair of which only the status is known to differ. */
export function planStatusOnly({
  ref,
  consumer,
  provider,
}: Pick<ObservedPair, "ref" | "consumer" | "provider">): PairPlan {
  if (consumer === undefined || provider?.status === undefined) return nothing;
  return { steps: [writeStatus(ref, consumer, provider.status)] };
}

function planWithoutConsumer(observed: ObservedPair): PairPlan {
  const { ref, provider, rule } = observed;
  if (provider === undefined || isDeleting(provider) || isForeign(observed)) return nothing;
  if (isBound(provider)) return { steps: [], waiting: "orphanConfirmation" };
  return { steps: [{ do: "createConsumer", content: adoptedContent(provider, ref, rule) }] };
}

function planDeletion(observed: ObservedPair, consumer: DynamicObject): PairPlan {
  const { ref, provider, mapping } = observed;
  const held = consumer.metadata.finalizers?.includes(syncerFinalizer) === true;
  const uid = consumer.metadata.uid ?? "";
  if (provider !== undefined && isBound(provider) && !isForeign(observed)) {
    if (isDeleting(provider)) return { steps: [], waiting: "providerDeletion" };
    if (observed.deletionsHeld === true) return { steps: [], waiting: "deletionHeld" };
    const step: Step = {
      do: "deleteProvider",
      ref: refOfObject(provider),
      uid: provider.metadata.uid ?? "",
    };
    return { steps: [step], waiting: "providerDeletion" };
  }
  if (!held) return nothing;
  if (ref.namespace !== undefined && mapping.state === "pending") return { steps: [], waiting: "mapping" };
  // A cache that has not seen an object proves nothing; one that shows somebody else's object does.
  const target = provider === undefined ? targetOf(observed) : undefined;
  const confirmGone = observed.unseen ?? (target === undefined ? [] : [target]);
  return { steps: [{ do: "removeFinalizer", ref, uid, confirmGone }] };
}

function planAlive(observed: ObservedPair, consumer: DynamicObject): PairPlan {
  const { ref, provider, mapping, tenant, rule } = observed;
  const target = targetOf(observed);
  if (target === undefined) {
    const { namespace = "" } = ref;
    return mapping.state === "missing"
      ? { steps: [{ do: "createMapping", consumerNamespace: namespace }], waiting: "mapping" }
      : { steps: [], waiting: "mapping" };
  }
  if (isForeign(observed)) return { steps: [], waiting: "foreignObject" };
  const status = planStatus(observed, consumer);
  if (provider !== undefined && isDeleting(provider))
    return { steps: status, waiting: "providerReplacement" };
  const wanted = providerContent(consumer, target, tenant, rule, isToBeNamed(observed.isolation, provider));
  const steps: Step[] = [];
  const uid = consumer.metadata.uid ?? "";
  if (consumer.metadata.finalizers?.includes(syncerFinalizer) !== true) {
    steps.push({ do: "addFinalizer", ref, uid });
  }
  if (consumer.metadata.annotations?.[restoredAnnotation] !== undefined) {
    steps.push({ do: "handOverConsumer", ref, uid });
  }
  const removal = provider === undefined ? undefined : legacyRemoval(wanted, provider);
  if (removal !== undefined) steps.push({ do: "patchProvider", ref: target, patch: removal });
  if (needsApply(wanted, provider, observed.applied)) {
    steps.push({ do: "applyProvider", content: wanted, uid: provider?.metadata.uid });
  }
  const plan = { steps: [...steps, ...status] };
  return observed.second === undefined ? plan : { ...plan, waiting: "secondObject" };
}

function targetOf({ target, tenant, ref, mapping, isolation }: ObservedPair): ObjectRef | undefined {
  return target ?? providerRefOf(tenant, ref, mapping, isolation);
}

/**
 * Status: the consumer shows exactly the provider's status. A provider object that was just created has none yet; the old one
 * stays until the new arrives, so a claim does not flicker when its upstream is recreated.
 */
function planStatus(observed: ObservedPair, consumer: DynamicObject): readonly Step[] {
  const { provider, ref, lastWrittenStatus } = observed;
  if (provider?.status === undefined || jsonEqual(consumer.status, provider.status)) return [];
  if (isSettled(lastWrittenStatus, provider.status, consumer.status)) return [];
  return [writeStatus(ref, consumer, provider.status)];
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
