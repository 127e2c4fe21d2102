/** Measures one stretch of traffic in which an event happens: delays of the users' edits and changes of objects. */
import { waitFor } from "@klutch/kube-testing";
import { type LivingFixture, useNewNamespace } from "./living-claims.ts";
import type { Seen, Traffic } from "./traffic.ts";
import { lookAtAll, writtenBetween } from "./written.ts";

/** The figures of one stretch. */
export interface Measured extends Seen {
  /** Objects that changed, and those of them that no edit explains. */
  readonly changed: readonly string[];
  readonly needless: readonly string[];
}

/** Describes the event to measure. */
export interface Stretch {
  /** Name of the stretch, from which the name of its new namespace in the app cluster is made. */
  readonly name: string;
  /** Least number of edits before the event and after it. Default 20. */
  readonly edits?: number | undefined;
  readonly happens: () => Promise<unknown>;
}

/** Edits, lets the event happen, uses a new namespace on which both sides have to agree, edits again, and compares the objects. */
export async function measureStretch(
  fixture: LivingFixture,
  traffic: Traffic,
  stretch: Stretch,
): Promise<Measured> {
  const { name, edits: more = 20, happens } = stretch;
  const before = await lookAtAll(fixture);
  const edits = new Map(traffic.edits);
  traffic.go();
  await untilEdited(traffic, more);
  await happens();
  await useNewNamespace(fixture, name.toLowerCase().replaceAll(/[ ,]+/g, "-"));
  await untilEdited(traffic, more);
  const seen = await traffic.settle();
  const made = new Map(traffic.edits.entries().map(([claim, all]) => [claim, all - (edits.get(claim) ?? 0)]));
  return { ...seen, ...writtenBetween(before, await lookAtAll(fixture), made) };
}

async function untilEdited({ edits }: Traffic, more: number): Promise<void> {
  const sum = (): number => edits.values().reduce((all, one) => all + one, 0);
  const enough = sum() + more;
  await waitFor("some more edits", () => sum() >= enough, { timeoutMs: 120_000 });
}
