/** What people are told of the rotations of a binding. */
import type { BindingRotation } from "@klutch/api";
import { wholeSeconds } from "@klutch/kube-core";
import { isWanted, mostOld, type RotationWish, worksUntil } from "./plan.ts";
import type { CredentialVersions } from "../../records/credential-versions.ts";

/** For the status; undefined when credentials were never rotated and nobody asks for it. */
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

/** What went wrong, and that the credentials in the Secret work; undefined when nothing did. `waitsFor`: why it cannot begin. */
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
