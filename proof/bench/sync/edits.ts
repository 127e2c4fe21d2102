/** A user who edits one claim at a time, and how long each edit takes to arrive upstream. */
import { type Random } from "@klutch/kube";
import { isRecord } from "@klutch/kube-core";
import type { Stopwatch } from "../harness/stopwatch.ts";
import { widgets } from "../harness/widget.ts";
import type { BenchWorld } from "../harness/world.ts";
import { anyOf, type ClaimRef } from "./claims.ts";

const everyMs = 500;

/** Changes a claim's size; resolves to the milliseconds until the change stands upstream. */
export async function edit(
  { consumer }: BenchWorld,
  onProvider: Stopwatch,
  claim: ClaimRef,
  size: number,
): Promise<number> {
  const arrived = onProvider.seen(claim.upstreamKey, ({ spec }) => isRecord(spec) && spec["size"] === size);
  const startedAt = performance.now();
  await consumer.api.patch(widgets, claim, { spec: { size } });
  return (await arrived) - startedAt;
}

/** The user at work. */
export interface Editor {
  /** Makes no more edits, waits for those under way and gives back the milliseconds of all. */
  stop(): Promise<readonly number[]>;
}

/** Edits any of `synced` twice a second; the list may grow meanwhile. */
export function startEditor(
  world: BenchWorld,
  onProvider: Stopwatch,
  synced: readonly ClaimRef[],
  random: Random,
): Editor {
  const open: Promise<number>[] = [];
  let size = 1000;
  const timer = setInterval(() => {
    if (synced.length === 0) return;
    const editing = edit(world, onProvider, anyOf(synced, random), ++size);
    // Its failure is thrown by stop().
    editing.catch(() => undefined);
    open.push(editing);
  }, everyMs);
  return {
    stop() {
      clearInterval(timer);
      return Promise.all(open);
    },
  };
}
