/** Claims one after the other, and many at once: how long they take to arrive upstream, and their statuses to come back. */
import { setTimeout as sleep } from "node:timers/promises";
import { inParallel } from "./api.ts";
import { claimRef, type Claims, numberedRefs } from "./claims.ts";
import { percentiles, type Percentiles } from "./statistics.ts";
import { widget, widgets } from "./widget.ts";
import { within } from "./within.ts";

/** Milliseconds: of claims to the provider, and of their statuses to the consumer. */
export interface LatencySample {
  readonly toProvider: readonly number[];
  readonly toConsumer: readonly number[];
}

const pauseMs = 50;
/** The first ones warm up connections and compilers. */
const warmUpRounds = 10;

/** Measures `count` rounds after some that are not counted; names start with `prefix`. */
export async function probeLatency(claims: Claims, count: number, prefix = "w"): Promise<LatencySample> {
  const toProvider: number[] = [];
  const toConsumer: number[] = [];
  for (let index = -warmUpRounds; index < count; index++) {
    const ref = claimRef(`${prefix}${index + warmUpRounds}`);
    const created = await claims.create(ref);
    const reported = await claims.report(ref, { observed: 1 });
    if (index >= 0) {
      toProvider.push(created);
      toConsumer.push(reported);
    }
    await sleep(pauseMs);
  }
  return { toProvider, toConsumer };
}

/** Milliseconds from sending the first create, and of each claim. */
export interface Burst {
  readonly createdMs: number;
  readonly totalMs: number;
  readonly each: Percentiles;
}

/**
 * Makes the contents of `count` claims, because random ones cost time, and gives back what sends them, once. That throws when they are
 * not all upstream after `timeoutMs`.
 */
export function prepareBurst(claims: Claims, count: number): (timeoutMs: number) => Promise<Burst> {
  const { fixture, onProvider, contents } = claims;
  const prepared = numberedRefs("burst", count).map((ref) => ({
    ref,
    claim: widget(ref.namespace, ref.name, contents),
  }));
  return async (timeoutMs) => {
    const arrivals = prepared.map(({ ref }) => onProvider.seen(ref.upstreamKey));
    const sentAt: number[] = [];
    const startedAt = performance.now();
    await inParallel(prepared, async ({ claim }, index) => {
      sentAt[index] = performance.now();
      await fixture.consumer.api.create(widgets, claim);
    });
    const createdMs = performance.now() - startedAt;
    const arrivedAt = await within(Promise.all(arrivals), timeoutMs, "the burst to arrive", fixture.problem);
    return {
      createdMs,
      totalMs: Math.max(...arrivedAt) - startedAt,
      each: percentiles(arrivedAt.map((at, index) => at - (sentAt[index] ?? at))),
    };
  };
}
