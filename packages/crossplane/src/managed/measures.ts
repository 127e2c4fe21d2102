/** Measures managed resources, in the words of Crossplane's runtime: how many exist, and how long they take. */
import type { Clock } from "@klutch/kube";
import { findCondition, type ResourceType } from "@klutch/kube-core";
import { type Informer, type Runnable, untilAborted } from "@klutch/kube-runtime";
import type { Histogram, HistogramDeclaration, Metrics } from "@klutch/telemetry";
import type { Managed } from "./external.ts";
import * as declarations from "./metrics.ts";

/** A cache that is counted. */
type Counted = Pick<Informer<Managed>, "type" | "size" | "list">;

/** Returns the kind as Go prints it, which is the label of Crossplane's metrics. */
export function gvkOf({ group, version, kind }: ResourceType): string {
  return `${group}/${version}, Kind=${kind}`;
}

/** Shows the number of managed resources of these kinds, of ready and of synced ones, while this process holds the lease. */
export function createManagedStates(metrics: Metrics, informers: readonly Counted[]): Runnable {
  const kinds = informers.map((informer) => ({ informer, labels: { gvk: gvkOf(informer.type) } }));
  const counted = (count: (informer: Counted) => number) => () =>
    kinds.map(({ informer, labels }) => ({ labels, value: count(informer) }));
  return {
    name: "managed-states",
    async start({ signal }) {
      using stack = new DisposableStack();
      stack.use(
        metrics.read(
          declarations.managedExists,
          counted(({ size }) => size),
        ),
      );
      stack.use(
        metrics.read(
          declarations.managedReady,
          counted((informer) => countTrue(informer, "Ready")),
        ),
      );
      stack.use(
        metrics.read(
          declarations.managedSynced,
          counted((informer) => countTrue(informer, "Synced")),
        ),
      );
      await untilAborted(signal);
    },
  };
}

function countTrue(informer: Counted, type: string): number {
  let count = 0;
  for (const { status } of informer.list())
    if (findCondition(status?.conditions, type)?.status === "True") count++;
  return count;
}

/** Times of one managed resource. */
interface Known {
  /** Its first reconcile was made here, and it was not ready since. */
  isNew: boolean;
  /** Monotonic milliseconds of the last reconcile without a difference or failure. */
  goodAt: number | undefined;
}

/** Takes the times of one kind. Resources are told apart by their UIDs, and forgotten when they are gone. */
export class ManagedTimes {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #toReconcile: Histogram;
  readonly #toReadiness: Histogram;
  readonly #deletion: Histogram;
  readonly #drift: Histogram;

  constructor(metrics: Metrics, clock: Clock, informer: Pick<Informer<Managed>, "type" | "onChange">) {
    this.#clock = clock;
    const of = (declaration: HistogramDeclaration<"gvk">): Histogram =>
      metrics.histogram(declaration).labels({ gvk: gvkOf(informer.type) });
    this.#toReconcile = of(declarations.firstTimeToReconcile);
    this.#toReadiness = of(declarations.firstTimeToReadiness);
    this.#deletion = of(declarations.managedDeletion);
    this.#drift = of(declarations.managedDrift);
    informer.onChange(({ type, object }) => {
      if (type === "deleted") this.#known.delete(object.metadata.uid ?? "");
    });
  }

  /** Takes note of a reconcile that begins; the first one of a resource is that before `Synced` says anything. */
  begins(managed: Managed): void {
    const { uid = "", creationTimestamp } = managed.metadata;
    if (this.#known.has(uid)) return;
    const isNew = findCondition(managed.status?.conditions, "Synced") === undefined;
    this.#known.set(uid, { isNew, goodAt: undefined });
    if (isNew) this.#since(this.#toReconcile, creationTimestamp);
  }

  /** Takes note of an external resource that differs from the spec. */
  differs({ metadata }: Managed): void {
    const known = this.#known.get(metadata.uid ?? "");
    if (known?.goodAt !== undefined) this.#drift.observe((this.#clock.monotonic() - known.goodAt) / 1000);
  }

  /** Takes note of a reconcile that did all it had to. */
  succeeds({ metadata }: Managed, isReady: boolean): void {
    const known = this.#known.get(metadata.uid ?? "");
    if (known === undefined) return;
    known.goodAt = this.#clock.monotonic();
    if (!isReady || !known.isNew) return;
    known.isNew = false;
    this.#since(this.#toReadiness, metadata.creationTimestamp);
  }

  /** Takes note of a deletion that is complete. */
  released({ metadata }: Managed): void {
    this.#known.delete(metadata.uid ?? "");
    this.#since(this.#deletion, metadata.deletionTimestamp);
  }

  /** The API server's clock may be ahead of ours. */
  #since(histogram: Histogram, timestamp: string | undefined): void {
    const seconds = (this.#clock.now() - Date.parse(timestamp ?? "")) / 1000;
    if (Number.isFinite(seconds)) histogram.observe(Math.max(0, seconds));
  }
}
