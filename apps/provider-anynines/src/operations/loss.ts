/**
 * Decides what follows when a broker does not know a resource that it had.
 *
 * | the broker says        | recorded before    | then                                                     |
 * |------------------------|--------------------|----------------------------------------------------------|
 * | here it is             | anything           | known: the record goes                                   |
 * | unknown                | nothing            | record since when, observe again                         |
 * | unknown                | too short ago      | observe again                                            |
 * | unknown                | long enough ago    | confirmed: the resource is lost                          |
 *
 * A lost instance is never created again by itself: the new one would be empty, and the broker may only work with other data.
 */
import type { Missing } from "../records/annotations.ts";

/** A person's permission to create a lost instance again: an annotation with the lost instance's id. */
export const provisionAnewAnnotation = "klutch.anynines.com/provision-anew";
/** A person's permission, on a ProviderConfig, to do so although most instances of its broker are gone at once. */
export const acceptLossAnnotation = "klutch.anynines.com/accept-loss";
/** This many at least, and more than half of all, are "many at once". */
const breakerCount = 3;

/** The record to write and the time of the next observation. */
export interface LossStep {
  readonly missing: Missing;
  readonly observeAgainMs: number | undefined;
}

/** The broker just said that it does not know the resource. */
export function stepLoss(recorded: Missing | undefined, now: number, confirmAfterMs: number): LossStep {
  if (recorded === undefined)
    return { missing: { since: now, confirmed: false }, observeAgainMs: confirmAfterMs };
  const leftMs = recorded.since + confirmAfterMs - now;
  if (!recorded.confirmed && leftMs > 0) return { missing: recorded, observeAgainMs: leftMs };
  return { missing: { ...recorded, confirmed: true }, observeAgainMs: undefined };
}

/** The number of instances of one ProviderConfig that are missing at its broker. */
export interface Losses {
  /** Kind and name of the ProviderConfig, for people. */
  readonly config: string;
  /** The same as arguments of kubectl. */
  readonly target: string;
  readonly missing: number;
  readonly all: number;
  /** A person accepts it. */
  readonly accepted: boolean;
}

/** Returns whether too many are gone at once to trust the broker. */
export function isMassLoss({ missing, all, accepted }: Losses): boolean {
  return !accepted && missing >= breakerCount && missing * 2 > all;
}

/** Returns undefined when a new, empty instance may replace one that is confirmed lost; otherwise the condition to report. */
export function decideLoss(lost: {
  /** The managed resource as arguments of kubectl. */
  readonly target: string;
  readonly instanceId: string;
  readonly permission: string | undefined;
  readonly losses: Losses;
}): { readonly do: "provisionAnew" } | { readonly do: "hold"; readonly message: string } {
  const { target, instanceId, permission, losses } = lost;
  const what = `the instance is lost: its broker does not know ${instanceId} any more`;
  if (isMassLoss(losses)) {
    return {
      do: "hold",
      message:
        `${what}. ${losses.missing} of ${losses.all} instances of the ${losses.config} are missing. ` +
        `The broker may look at other data, so no new instance is made until they are back: tell the platform team. ` +
        `The platform team looks at the broker; to accept the loss, it runs in the control plane: kubectl annotate ${losses.target} ${acceptLossAnnotation}=true`,
    };
  }
  if (permission === instanceId) return { do: "provisionAnew" };
  return {
    do: "hold",
    message:
      `${what}. If the broker finds it again, nothing more has to be done. Tell the platform team, or delete the claim with ` +
      `its bindings and create another, which will be empty. To create this one again, empty, the platform team runs in the ` +
      `control plane: kubectl annotate ${target} ${provisionAnewAnnotation}=${instanceId}`,
  };
}
