/** Measures the CPU time of translating generations against the same functions where statuses are copied as they are. */
import { seededRandom } from "@klutch/kube-testing";
import { type Digest, specMark, type StatusView } from "@klutch/sync";
import type { DynamicObject } from "@klutch/kube-core";
import { digests, parsed, restart, statusTrip } from "./engine.ts";
import { type SentPair, sentPair } from "./pairs.ts";
import { measurePaired, type Paired, type PairedOptions } from "./paired.ts";
import { shownStatus, treatments } from "./statuses.ts";

/** Times of each kind of work; `one` translates, `other` copies. */
export interface Computing {
  /** A status alone. Copied, it is the same object. */
  readonly translation: Paired;
  /** The digests of both objects. */
  readonly digests: Paired;
  /** The mark of a claim's spec, which claims have whatever their schema; `other` is nothing. */
  readonly mark: Paired;
  readonly statusTrip: Paired;
  readonly restart: Paired;
}

export interface ComputingOptions extends PairedOptions {
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

/** Measures all of them. */
export function measureComputing(options: ComputingOptions): Computing {
  const [translated, copied] = [treatments.translated.view, treatments.copied.view];
  const against = (work: (view: StatusView, subject: Subject) => unknown): Paired =>
    measurePaired(worker(translated, options, work), worker(copied, options, work), options);
  const mark = worker(translated, options, (_view, { claim }) => specMark(claim));
  return {
    translation: against((view, { claim, upstream }) => shownStatus(view, claim, upstream)),
    digests: against((view, { claim, upstream }) => digests(view, claim, upstream)),
    mark: measurePaired(mark, () => undefined, options),
    statusTrip: against((view, { digest, sent }) => statusTrip(view, digest, sent)),
    restart: against((view, { sent }) => restart(view, sent)),
  };
}

function worker(
  view: StatusView,
  { seed, specBytes }: ComputingOptions,
  work: (view: StatusView, subject: Subject) => unknown,
): (call: number) => unknown {
  const contents = { random: seededRandom(seed), bytes: specBytes };
  const subjects = Array.from({ length: pairCount }, (_, index) => {
    const sent = sentPair(view, `claim-${index}`, contents);
    const [claim, upstream] = [parsed(sent.claim), parsed(sent.upstream)];
    return { sent, claim, upstream, digest: digests(view, claim, upstream)[0] } satisfies Subject;
  });
  return (call) => {
    const subject = subjects[call % pairCount];
    return subject === undefined ? undefined : work(view, subject);
  };
}
