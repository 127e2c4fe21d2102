/**
 * A lane for each broker, so that one that hangs delays nobody else: of each broker so many resources are worked on at the same time, and
 * the next ones wait in its lane without holding a worker.
 */
import type { Reconcile } from "@klutch/kube-runtime";

/** Options of `inLanes`. */
export interface LaneOptions {
  readonly reconcile: Reconcile;
  /** Resources of one broker that are worked on at the same time. */
  readonly width: number;
  /** The lane of a key; undefined for one that needs no broker. */
  readonly laneOf: (key: string) => string | undefined;
  /** Makes the key be reconciled again. */
  readonly enqueue: (key: string) => void;
}

interface Lane {
  running: number;
  readonly waiting: Set<string>;
}

/**
 * Brokers that can hang at the same time before they delay others: a controller has `width` workers for each. An idle worker is a promise,
 * so many cost nothing.
 */
export const lanesAtOnce = 100;

/** The reconcile function; a key whose lane is full ends at once and is enqueued when there is room. */
export function inLanes({ reconcile, width, laneOf, enqueue }: LaneOptions): Reconcile {
  const lanes = new Map<string, Lane>();
  return async (key, context) => {
    const name = laneOf(key);
    if (name === undefined) return reconcile(key, context);
    const lane = lanes.get(name) ?? { running: 0, waiting: new Set() };
    lanes.set(name, lane);
    if (lane.running >= width) {
      lane.waiting.add(key);
      return { keepsBackOff: true };
    }
    lane.waiting.delete(key);
    lane.running++;
    try {
      return await reconcile(key, context);
    } finally {
      lane.running--;
      const [next] = lane.waiting;
      if (next !== undefined) {
        lane.waiting.delete(next);
        enqueue(next);
      } else if (lane.running === 0) lanes.delete(name);
    }
  };
}
