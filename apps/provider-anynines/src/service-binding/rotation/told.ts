/** What people are told of the rotations of a binding. */
import type { BindingRotation } from "@klutch/api";
import { wholeSeconds } from "@klutch/kube-core";
import { isWanted, mostOld, type RotationWish, worksUntil } from "./plan.ts";
import type { Generations } from "../../records/credential-versions.ts";

/** For the status; undefined when credentials were never rotated and nobody asks for it. */
export function toldRotation(generations: Generations, wish: RotationWish): BindingRotation | undefined {
  const { request, rotatedAt, old, next } = generations;
  if (rotatedAt === undefined && next === undefined && !isWanted(generations, wish)) return undefined;
  const last = old.at(-1);
  const isPending = isWanted(generations, wish) || (next !== undefined && next.phase !== "failed");
  return {
    request,
    rotatedAt: rotatedAt === undefined ? undefined : wholeSeconds(rotatedAt),
    oldCredentialsUntil: last === undefined ? undefined : wholeSeconds(worksUntil(last, wish)),
    pending: isPending ? true : undefined,
  };
}

/** What went wrong, and that the credentials in the Secret work; undefined when nothing did. `waitsFor`: why it cannot begin. */
export function rotationFailure(
  generations: Generations,
  wish: RotationWish,
  waitsFor: string | undefined,
): string | undefined {
  const { next, old } = generations;
  if (next?.failure !== undefined && (next.phase !== "failed" || isWanted(generations, wish)))
    return `the credentials could not be rotated: ${next.failure}`;
  if (waitsFor !== undefined) return `the credentials cannot be rotated now: ${waitsFor}`;
  if (next === undefined && isWanted(generations, wish) && old.length >= mostOld) {
    const until = Math.min(...old.map((one) => worksUntil(one, wish)));
    return (
      `the credentials cannot be rotated now: ${old.length} older ones still work; the first of them end at ${wholeSeconds(until)}, ` +
      "or earlier with a smaller rotateGraceSeconds"
    );
  }
  const left = old.find(({ failure }) => failure !== undefined);
  return left === undefined ? undefined : `old credentials could not be taken back: ${left.failure}`;
}
