/** What a syncer keeps in mind of its pairs; lost without harm on restart. */
import { keyOf } from "@klutch/kube-core";
import type { Change } from "@klutch/kube-runtime";
import type { AppliedRecord, Settled } from "@klutch/sync";
import type { Sample } from "@klutch/telemetry";
import type { BoundDigest } from "../../digests.ts";
import type { Environment } from "../../clusters.ts";
import type { SeenPair } from "./pair-reader.ts";

/** What the process remembers of one pair; lost without harm on restart. */
export interface PairMemory {
  settled?: Settled | undefined;
  applied?: AppliedRecord | undefined;
  projected?: AppliedRecord | undefined;
  waitingSince?: number | undefined;
  isSynced?: boolean | undefined;
  /** Since when the pair is known to differ. */
  openSince?: number | undefined;
  failures?: number | undefined;
}

/** The pair is in sync: how long it was not is measured. */
export function closeDifference(memory: PairMemory, { metrics, clock }: Environment, resource: string): void {
  if (memory.openSince !== undefined) {
    metrics.lag.labels({ resource }).observe((clock.monotonic() - memory.openSince) / 1000);
  }
  memory.openSince = undefined;
  memory.failures = undefined;
}

/** How many claims are in each state. One that was not looked at yet is pending. */
export function countClaims(
  resource: string,
  claims: Iterable<BoundDigest>,
  memories: ReadonlyMap<string, PairMemory>,
): readonly Sample<"resource" | "state">[] {
  const counts = { in_sync: 0, pending: 0, deleting: 0 };
  for (const claim of claims) {
    const memory = memories.get(keyOf(claim));
    if (claim.metadata.deletionTimestamp !== undefined) counts.deleting++;
    else if (memory !== undefined && memory.openSince === undefined) counts.in_sync++;
    else counts.pending++;
  }
  return Object.entries(counts).map(([state, value]) => ({ labels: { resource, state }, value }));
}

/** By how much a change moves the number of claims that live. */
export function livingDifference(change: Change<BoundDigest>): number {
  const lives = (object: BoundDigest): number => (object.metadata.deletionTimestamp === undefined ? 1 : 0);
  switch (change.type) {
    case "added":
      return lives(change.object);
    case "deleted":
      return -lives(change.object);
    case "updated":
      return lives(change.object) - lives(change.previous);
    default:
      return change satisfies never;
  }
}

/** Nothing has to look at these versions any more. */
export function release({ consumer, provider }: SeenPair): void {
  consumer?.payload.drop();
  provider?.payload.drop();
}

/** Whether the change of a claim was made by its user: our marks and the status leave the generation as it is. */
export function isUserEdit(change: Change<BoundDigest>): boolean {
  if (change.type !== "updated") return true;
  const [now, before] = [change.object.metadata, change.previous.metadata];
  return now.generation !== before.generation || now.deletionTimestamp !== before.deletionTimestamp;
}
