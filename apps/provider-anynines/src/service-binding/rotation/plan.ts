/**
 * Decides what a rotation does next. No I/O. The record of the next version is an operation (`operations/step.ts`).
 *
 * | next version                   | the claim's text                        | then                                             |
 * |--------------------------------|-----------------------------------------|--------------------------------------------------|
 * | none                           | none, or the one that was answered      | –                                                |
 * | none                           | another                                 | begin, unless 5 old ones are there already       |
 * | calling, polling, made, discard | anything                               | its operation goes on                            |
 * | failed                         | the one that was answered, or none      | drop                                             |
 * | failed                         | the one that failed                     | begin, after a while                             |
 * | failed                         | yet another                             | begin at once                                    |
 *
 * A text that comes while the next version is on its way is answered by it, too: no one has seen its credentials yet. An old version is
 * unbound when its grace time is over; the grace time is the claim's as it is now.
 */
import type { BindingRotation } from "@klutch/api";
import { wholeSeconds } from "@klutch/kube-core";
import type { CredentialVersions, NextVersion, OldVersion } from "../../records/credential-versions.ts";

/** Time for which old credentials work when the claim names none, in seconds. */
export const defaultGraceSeconds = 3_600;
/** Limits the old versions that wait: the record is bounded, and so are the logins at the service. */
export const mostOld = 5;

/** The rotation that the spec wants. */
export interface RotationWish {
  readonly rotate?: string | undefined;
  readonly rotateGraceSeconds?: number | undefined;
}

/** One thing to do: `goOn` with the next version, or `unbind` an old one. */
export type RotationStep =
  | { readonly do: "begin" | "goOn" | "drop" }
  | { readonly do: "unbind"; readonly old: OldVersion };

/** The next action, or the time of the next look. */
export interface RotationPlan {
  readonly step: RotationStep | undefined;
  /** Milliseconds since the epoch; undefined: nothing waits. */
  readonly wakeAt: number | undefined;
}

/** `now`: milliseconds since the epoch. */
export function planRotation(versions: CredentialVersions, wish: RotationWish, now: number): RotationPlan {
  const due = [nextDue(versions, wish), ...versions.old.map((old) => oldDue(old, wish))].filter(
    (one) => one !== undefined,
  );
  const first = due.find(({ at }) => at <= now);
  if (first !== undefined) return { step: first.step, wakeAt: undefined };
  return { step: undefined, wakeAt: due.length === 0 ? undefined : Math.min(...due.map(({ at }) => at)) };
}

/** Until when credentials that were replaced work, in milliseconds since the epoch. */
export function worksUntil(
  { replacedAt }: Pick<OldVersion, "replacedAt">,
  { rotateGraceSeconds = defaultGraceSeconds }: RotationWish,
): number {
  return replacedAt + Math.max(rotateGraceSeconds, 0) * 1_000;
}

/** Reports whether new credentials are requested. */
export function isWanted({ request }: CredentialVersions, { rotate }: RotationWish): boolean {
  return rotate !== undefined && rotate !== request;
}

interface Due {
  readonly step: RotationStep;
  readonly at: number;
}

function nextDue(versions: CredentialVersions, wish: RotationWish): Due | undefined {
  const { next, old } = versions;
  const wanted = isWanted(versions, wish);
  if (next === undefined) {
    const hasRoom = old.length < mostOld;
    return wanted && hasRoom ? { step: { do: "begin" }, at: 0 } : undefined;
  }
  const { phase, againAt = 0 } = next.operation;
  if (phase !== "failed") return { step: { do: "goOn" }, at: againAt };
  if (!wanted) return { step: { do: "drop" }, at: 0 };
  return { step: { do: "begin" }, at: isSameRequest(next, wish) ? againAt : 0 };
}

/** Reports whether the request that failed is still made; a person who repeats it does not wait. */
export function isSameRequest({ request }: NextVersion, { rotate }: RotationWish): boolean {
  return rotate === request;
}

function oldDue(old: OldVersion, wish: RotationWish): Due {
  return { step: { do: "unbind", old }, at: Math.max(worksUntil(old, wish), old.operation.againAt ?? 0) };
}

/** Returns the status; undefined when credentials were never rotated and no rotation is wanted. */
export function toldRotation(versions: CredentialVersions, wish: RotationWish): BindingRotation | undefined {
  const { request, rotatedAt, old, next } = versions;
  if (rotatedAt === undefined && next === undefined && !isWanted(versions, wish)) return undefined;
  const last = old.at(-1);
  const isPending = isWanted(versions, wish) || (next !== undefined && next.operation.phase !== "failed");
  return {
    request,
    rotatedAt: rotatedAt === undefined ? undefined : wholeSeconds(rotatedAt),
    oldCredentialsUntil: last === undefined ? undefined : wholeSeconds(worksUntil(last, wish)),
    pending: isPending ? true : undefined,
  };
}

/** Returns what went wrong, and that the credentials in the Secret work; undefined when nothing did. `waitsFor`: why it cannot begin. */
export function rotationFailure(
  versions: CredentialVersions,
  wish: RotationWish,
  waitsFor: string | undefined,
): string | undefined {
  const { next, old } = versions;
  const { failure, phase } = next?.operation ?? {};
  if (failure !== undefined && (phase !== "failed" || isWanted(versions, wish)))
    return `the credentials could not be rotated: ${failure}`;
  if (waitsFor !== undefined) return `the credentials cannot be rotated now: ${waitsFor}`;
  if (next === undefined && isWanted(versions, wish) && old.length >= mostOld) {
    const until = Math.min(...old.map((one) => worksUntil(one, wish)));
    return (
      `the credentials cannot be rotated now: ${old.length} older ones still work; the first of them end at ${wholeSeconds(until)}, ` +
      "or earlier with a smaller rotateGraceSeconds"
    );
  }
  const left = old.find(({ operation }) => operation.failure !== undefined)?.operation.failure;
  return left === undefined ? undefined : `old credentials could not be taken back: ${left}`;
}
