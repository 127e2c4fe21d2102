/**
 * The claim whose upstream object is missing since the control plane was restored from a backup. A new object would be empty where the old one
 * had data, so the claim waits for a person (designs/0038-restored-control-plane.md).
 */
import { releaseCreationsAnnotation } from "@klutch/api";
import { recordAt, recordsAt } from "@klutch/kube-core";
import { type LocalReadyCase, localNotReady } from "./local-ready.ts";
import type { WithStatus } from "./status-evidence.ts";
import { shortened } from "./status-view.ts";

/** Reason of `Ready`, and of the event. */
export const creationHeldReason = "CreationHeld";

/** A restore of the control plane that no person has answered yet. */
export interface HeldCreations {
  /** Names the claims' resource in commands: `<plural>.<group>`. */
  readonly api: string;
  /** Time at which the restore was noticed, in milliseconds since the epoch. A word of a person counts from then on. */
  readonly since: number;
}

/** Returns true if the annotation names a time at or after the hold's beginning, in whole seconds like the times of conditions. */
export function releasesCreation({ metadata }: Pick<WithStatus, "metadata">, since: number): boolean {
  const at = Date.parse(metadata.annotations?.[releaseCreationsAnnotation] ?? "");
  return Number.isFinite(at) && at >= Math.floor(since / 1000) * 1000;
}

/** Says it to the author of the claim. */
export function creationHeldWords({ api }: Pick<HeldCreations, "api">): string {
  return `the control plane was restored from an earlier state, which lacks the object of this claim. A new object would be empty, so none is created. Ask the platform team to bring the object back. To accept an empty one, annotate the claim: kubectl annotate ${api} <name> --overwrite ${releaseCreationsAnnotation}="$(date -u +%FT%TZ)"`;
}

/** The status with `Ready` False. As it is where the schema has no such condition. */
export function withHeldCreation(status: unknown, held: HeldCreations, about: LocalReadyCase): unknown {
  if (!about.view.mayBeUnknown || status === undefined) return status;
  const words = { reason: creationHeldReason, message: shortened(creationHeldWords(held)) };
  const said = localNotReady(about, words);
  const others = recordsAt(status, "conditions").filter(({ type }) => type !== "Ready");
  return { ...recordAt(status), conditions: [said, ...others] };
}
