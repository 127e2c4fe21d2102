/**
 * A queue for each broker, so that a broker that hangs delays only its own resources: a limited number of resources of each broker are worked
 * on at the same time, and the next ones wait without holding a worker.
 */
import { traceCausesOf } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";
import { Controller, type Informer, type Reconcile, type Runtime } from "@klutch/kube-runtime";
import { activeScope } from "@klutch/telemetry";
import { retryLimits } from "../operations/pace.ts";
import { configNameOf } from "../provider-config/reference.ts";

/** Options of `inBrokerQueues`. */
export interface QueueOptions {
  readonly reconcile: Reconcile;
  /** Resources of one broker that are worked on at the same time. */
  readonly width: number;
  /** Returns the broker of a key; undefined for a key that needs no broker. */
  readonly queueOf: (key: string) => string | undefined;
  /** Makes the key be reconciled again. */
  readonly enqueue: (key: string) => void;
}

interface Queue {
  running: number;
  readonly waiting: Set<string>;
}

/** Brokers that can hang at the same time before they delay others: a controller has `width` workers for each. An idle worker costs nothing. */
export const brokersAtOnce = 100;

/** Returns the reconcile function; a key whose queue is full ends at once and is enqueued when there is room. */
export function inBrokerQueues({ reconcile, width, queueOf, enqueue }: QueueOptions): Reconcile {
  const queues = new Map<string, Queue>();
  return async (key, context) => {
    const name = queueOf(key);
    if (name === undefined) return reconcile(key, context);
    const queue = queues.get(name) ?? { running: 0, waiting: new Set() };
    queues.set(name, queue);
    if (queue.running >= width) {
      queue.waiting.add(key);
      return { keepsBackOff: true };
    }
    queue.waiting.delete(key);
    queue.running++;
    try {
      return await reconcile(key, context);
    } finally {
      queue.running--;
      const [next] = queue.waiting;
      if (next !== undefined) {
        queue.waiting.delete(next);
        enqueue(next);
      } else if (queue.running === 0) queues.delete(name);
    }
  };
}

/** Options of the controller of one managed kind. */
export interface QueuedController<M extends Managed> {
  readonly name: string;
  readonly informer: Informer<M>;
  readonly reconcile: Reconcile;
}

/** Creates the controller. `workers`: resources of one ProviderConfig that are worked on at the same time. */
export function createQueuedController<M extends Managed>(
  parts: Runtime & { readonly workers: number },
  { name, informer, reconcile }: QueuedController<M>,
): Controller {
  const controller: Controller = new Controller({
    ...parts,
    name,
    workers: parts.workers * brokersAtOnce,
    baseDelayMs: retryLimits.baseMs,
    maxDelayMs: retryLimits.capMs,
    kind: informer.type.kind,
    reconcile: inBrokerQueues({
      reconcile: (key, context) => {
        const scope = activeScope();
        if (scope !== undefined)
          for (const cause of traceCausesOf(informer.get(key)?.metadata)) scope.follow(cause);
        return reconcile(key, context);
      },
      width: parts.workers,
      queueOf: (key) => {
        const managed = informer.get(key);
        return managed === undefined ? undefined : configNameOf(managed);
      },
      enqueue: (key) => controller.enqueue(key, { reason: "the queue of its backend has room" }),
    }),
  });
  return controller;
}
