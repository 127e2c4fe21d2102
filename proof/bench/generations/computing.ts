/** Measures the CPU time of translating generations against the same functions where statuses are copied as they are. */
import { seededRandom } from "@klutch/kube-testing";
import {
  compareDigests,
  consumerDigest,
  defaultMetadataRule,
  type Digest,
  type DigestVerdict,
  planStatusOnly,
  providerDigest,
  reduceManagedFields,
  specMark,
  type StatusView,
} from "@klutch/sync";
import { type DynamicObject, jsonEqual } from "@klutch/kube-core";
import { syncerFinalizer } from "@klutch/api";
import { median } from "../harness/statistics.ts";
import { type SentPair, sentPair, treatments } from "./pairs.ts";
import { workNamespace } from "../harness/fixture.ts";

/** Microseconds for each call of two pieces of work, and the one against the other: medians of all rounds. */
export interface Paired {
  readonly one: number;
  readonly other: number;
  /** Microseconds by which `one` takes longer than `other` in the same round. */
  readonly more: number;
  readonly ratio: number;
}

/** Times of each kind of work; `one` translates, `other` copies. */
export interface Computing {
  /** The digests of both objects. */
  readonly digests: Paired;
  /** The mark of a claim's spec, which claims have whatever their schema; `other` is nothing. */
  readonly mark: Paired;
  readonly statusTrip: Paired;
  readonly restart: Paired;
}

export interface ComputingOptions {
  /** Rounds that count; a tenth more, and at least one, come before to warm up the compiler. */
  readonly rounds: number;
  readonly seed: number;
  readonly specBytes: number;
}

interface Subject {
  readonly sent: SentPair;
  readonly claim: DynamicObject;
  readonly upstream: DynamicObject;
  readonly digest: Digest;
}

const pairCount = 50;
/** Calls in one round. Few: a round in which another process had the processor is an outlier, which a median leaves out. */
const callsInARound = 20;

/** Measures all of them. */
export function measureComputing({ rounds, seed, specBytes }: ComputingOptions): Computing {
  const workerOf = (view: StatusView): ((work: Work) => (call: number) => unknown) => {
    const contents = { random: seededRandom(seed), bytes: specBytes };
    const subjects = Array.from({ length: pairCount }, (_, index): Subject => {
      const sent = sentPair(view, `claim-${index}`, contents);
      const [claim, upstream] = [parsed(sent.claim), parsed(sent.upstream)];
      return { sent, claim, upstream, digest: digests(view, claim, upstream)[0] };
    });
    return (work) => (call) => {
      const subject = subjects[call % pairCount];
      return subject === undefined ? undefined : work(view, subject);
    };
  };
  const [translating, copying] = [workerOf(treatments.translated.view), workerOf(treatments.copied.view)];
  const against = (work: Work): Paired =>
    measurePaired(translating(work), copying(work), rounds, callsInARound);
  const mark = translating((_view, { claim }) => specMark(claim));
  return {
    digests: against((view, { claim, upstream }) => digests(view, claim, upstream)),
    mark: measurePaired(mark, () => undefined, rounds, callsInARound),
    statusTrip: against((view, { digest, sent }) => statusTrip(view, digest, sent)),
    restart: against((view, { sent }) => restart(view, sent)),
  };
}

type Work = (view: StatusView, subject: Subject) => unknown;

/**
 * Measures both in turn, so that a machine that changes its speed does it to both. Each gets the number of the call and returns something, so
 * that the compiler drops no work as unused.
 */
export function measurePaired(
  one: (call: number) => unknown,
  other: (call: number) => unknown,
  rounds: number,
  calls: number,
): Paired {
  const pairs: { readonly one: number; readonly other: number }[] = [];
  const results: unknown[] = [undefined];
  const microsOf = (work: (call: number) => unknown): number => {
    const before = performance.now();
    for (let call = 0; call < calls; call++) results[0] = work(call);
    return ((performance.now() - before) * 1000) / calls;
  };
  for (let round = -Math.ceil(rounds / 10); round < rounds; round++) {
    // The second one meets the garbage of the first.
    const early = round % 2 === 0 ? microsOf(one) : undefined;
    const second = microsOf(other);
    const first = early ?? microsOf(one);
    if (round >= 0) pairs.push({ one: first, other: second });
  }
  return {
    one: median(pairs.map((pair) => pair.one)),
    other: median(pairs.map((pair) => pair.other)),
    more: median(pairs.map((pair) => pair.one - pair.other)),
    ratio: median(pairs.map((pair) => pair.one / pair.other)),
  };
}

/** Returns the digests of both objects, as the caches keep them. */
export function digests(
  view: StatusView,
  claim: DynamicObject,
  upstream: DynamicObject,
): readonly [Digest, Digest] {
  return [consumerDigest(claim, defaultMetadataRule, view), providerDigest(upstream, view)];
}

/** Compares both objects as after a restart, when they come in lists. */
export function restart(view: StatusView, { claim, upstream }: SentPair): DigestVerdict {
  return verdictOf(...digests(view, parsed(claim), parsed(upstream)));
}

/** Handles one status, from the provider's event to the answer to our write. `shown` is the claim's digest before that. */
export function statusTrip(view: StatusView, shown: Digest, { news, answer }: SentPair): DigestVerdict {
  const event = parsed(news);
  const upstream = providerDigest(event, view);
  const provider = reduceManagedFields(event);
  const before = verdictOf(shown, upstream);
  if (before !== "statusDiffers") throw new Error(`a status differs, and is taken for ${before}`);
  const { metadata } = shown;
  const consumer = { apiVersion: event.apiVersion, kind: event.kind, metadata, status: {} };
  const ref = { namespace: workNamespace, name: metadata.name ?? "" };
  const [step] = planStatusOnly({ ref, consumer, provider, view, now: 0 }).steps;
  if (step?.do !== "writeStatus") throw new Error("a status differs, and is not written");
  const body = JSON.stringify([{ op: "add", path: "/status", value: step.status }]);
  const written = parsed(answer);
  if (body === "" || !jsonEqual(written.status, step.status)) throw new Error("another status was written");
  return verdictOf(consumerDigest(written, defaultMetadataRule, view), upstream);
}

/** The object in a server's text. */
export function parsed(text: string): DynamicObject {
  return JSON.parse(text) as DynamicObject;
}

function verdictOf(claim: Digest, upstream: Digest): DigestVerdict {
  return compareDigests(claim, upstream, undefined, undefined, syncerFinalizer);
}
