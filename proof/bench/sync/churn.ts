/** Users and a provider at work: claims come, change, report and go, at a steady rate, under names that are never used again. */
import { isNotFound } from "@klutch/kube";
import { anyOf, type ClaimRef, claimRef } from "../harness/claims.ts";
import { widget, widgets, type WidgetContents } from "../harness/widget.ts";
import type { BenchFixture } from "../harness/fixture.ts";

interface LiveClaim {
  readonly ref: ClaimRef;
  readonly bornAt: number;
}

/** The approximate number of claims that live at a time. */
const population = 200;
/** A claim is left alone until it must have arrived upstream. */
const childhoodMs = 5000;

/** The churn under way. */
export interface Churn {
  /** Done so far, by kind of change. */
  readonly done: Readonly<Record<string, number>>;
  /** Ends it when the last change has been answered; throws when one was refused. */
  stop(): Promise<void>;
}

/** Starts `rate` changes a second in the work namespace. */
export function startChurn(
  { consumer, provider }: BenchFixture,
  rate: number,
  contents: WidgetContents,
): Churn {
  const done = { created: 0, edited: 0, reported: 0, deleted: 0, missed: 0 };
  const live: LiveClaim[] = [];
  const open = new Set<Promise<void>>();
  const faults: unknown[] = [];
  let serial = 0;
  const { random } = contents;

  const create = async (): Promise<void> => {
    const ref = claimRef(`soak-${++serial}`);
    await consumer.api.create(widgets, widget(ref.namespace, ref.name, contents));
    live.push({ ref, bornAt: performance.now() });
    done.created++;
  };
  const change = async (kind: "edited" | "reported" | "deleted", { ref }: LiveClaim): Promise<void> => {
    const value = ++serial;
    try {
      if (kind === "edited") await consumer.api.patch(widgets, ref, { spec: { size: value } });
      else if (kind === "deleted") await consumer.api.delete(widgets, ref);
      else await provider.api.patch(widgets, ref.upstream, { status: { observed: value } }, "status");
      done[kind]++;
    } catch (error) {
      // Deleted between choice and change; upstream that may also mean that it has not arrived.
      if (!isNotFound(error)) throw error;
      done.missed++;
    }
  };
  const oneChange = (): Promise<void> => {
    const adults = live.filter(({ bornAt }) => performance.now() - bornAt > childhoodMs);
    const isGrowing = live.length < population;
    const wish = random();
    if (adults.length === 0 || wish < (isGrowing ? 0.3 : 0.2)) return create();
    const claim = anyOf(adults, random);
    if (wish < 0.5) return change("edited", claim);
    if (wish < (isGrowing ? 0.8 : 0.7)) return change("reported", claim);
    live.splice(live.indexOf(claim), 1);
    return change("deleted", claim);
  };
  const timer = setInterval(() => {
    const changing = oneChange()
      .catch((error: unknown) => void faults.push(error))
      .finally(() => open.delete(changing));
    open.add(changing);
  }, 1000 / rate);
  return {
    done,
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      if (faults.length > 0) throw new AggregateError(faults, `${faults.length} changes of the soak failed`);
    },
  };
}
