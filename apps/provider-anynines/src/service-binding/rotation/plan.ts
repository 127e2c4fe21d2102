/**
 * What a rotation does next, decided from what is recorded and wanted. No I/O.
 *
 * | next generation  | the claim's text                        | then                                                        |
 * |------------------|-----------------------------------------|-------------------------------------------------------------|
 * | none             | none, or the one that was answered      | –                                                           |
 * | none             | another                                 | bind, unless so many old ones are there already             |
 * | `calling`        | anything                                | bind: the same call again                                   |
 * | `polling`        | anything                                | poll                                                        |
 * | `made`           | anything                                | publish; then it is the current one                         |
 * | `discarding`     | anything                                | discard: it is unbound, or its unbinding is polled          |
 * | `failed`         | the one that was answered, or none      | drop                                                        |
 * | `failed`         | the one that failed                     | bind, after a while                                         |
 * | `failed`         | yet another                             | bind at once                                                |
 *
 * A text that comes while the next generation is on its way is answered by it, too: nobody has seen its credentials yet. An old generation is
 * unbound when its grace time is over; the grace time is the claim's as it is now.
 */
import type { Generations, NextGeneration, OldGeneration } from "../../records/credential-versions.ts";

/** How long old credentials work when the claim does not say, in seconds. */
export const defaultGraceSeconds = 3_600;
/** So many old generations wait at most: the record is bounded, and so are the logins at the service. */
export const mostOld = 5;

/** What is wanted. */
export interface RotationWish {
  readonly rotate?: string | undefined;
  readonly rotateGraceSeconds?: number | undefined;
}

/** One thing to do. */
export type RotationStep =
  | { readonly do: "bind" | "poll" | "publish" | "discard" | "drop" }
  | { readonly do: "unbind"; readonly old: OldGeneration };

/** What to do now, or when to look again. */
export interface RotationPlan {
  readonly step: RotationStep | undefined;
  /** Milliseconds since the epoch; undefined: nothing waits. */
  readonly wakeAt: number | undefined;
}

/** `now`: milliseconds since the epoch. */
export function planRotation(generations: Generations, wish: RotationWish, now: number): RotationPlan {
  const due = [nextDue(generations, wish), ...generations.old.map((old) => oldDue(old, wish))].filter(
    (one) => one !== undefined,
  );
  const first = due.find(({ at }) => at <= now);
  if (first !== undefined) return { step: first.step, wakeAt: undefined };
  return { step: undefined, wakeAt: due.length === 0 ? undefined : Math.min(...due.map(({ at }) => at)) };
}

/** Until when credentials that were replaced work, in milliseconds since the epoch. */
export function worksUntil(
  { replacedAt }: Pick<OldGeneration, "replacedAt">,
  { rotateGraceSeconds = defaultGraceSeconds }: RotationWish,
): number {
  return replacedAt + Math.max(rotateGraceSeconds, 0) * 1_000;
}

/** Whether new credentials are asked for. */
export function isWanted({ request }: Generations, { rotate }: RotationWish): boolean {
  return rotate !== undefined && rotate !== request;
}

interface Due {
  readonly step: RotationStep;
  readonly at: number;
}

const steps = { calling: "bind", polling: "poll", made: "publish", discarding: "discard" } as const;

function nextDue(generations: Generations, wish: RotationWish): Due | undefined {
  const { next, old } = generations;
  const wanted = isWanted(generations, wish);
  if (next === undefined) {
    const hasRoom = old.length < mostOld;
    return wanted && hasRoom ? { step: { do: "bind" }, at: 0 } : undefined;
  }
  if (next.phase !== "failed") return { step: { do: steps[next.phase] }, at: next.againAt ?? 0 };
  if (!wanted) return { step: { do: "drop" }, at: 0 };
  return { step: { do: "bind" }, at: retryAt(next, wish) };
}

/** A person who asks once more does not wait. */
function retryAt({ request, againAt = 0 }: NextGeneration, { rotate }: RotationWish): number {
  return rotate === request ? againAt : 0;
}

function oldDue(old: OldGeneration, wish: RotationWish): Due {
  return { step: { do: "unbind", old }, at: Math.max(worksUntil(old, wish), old.againAt ?? 0) };
}
