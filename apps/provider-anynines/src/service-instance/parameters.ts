/** What to send when an instance's parameters change. */
import { jsonEqual } from "@klutch/kube-core";

type Parameters = Readonly<Record<string, unknown>>;

/**
 * Changed and new parameters with their values, and `null` for those that we sent once and nobody wants any more. What the broker
 * reports besides is its own default, which is left alone. Undefined when there is nothing to change.
 */
export function parameterChanges(observed: {
  readonly wanted: Parameters | undefined;
  /** As last reported by the broker, or as last sent. */
  readonly present: Parameters | undefined;
  /** Names that were sent before. */
  readonly sent: readonly string[];
}): Parameters | undefined {
  const { wanted = {}, present = {}, sent } = observed;
  const changed = Object.entries(wanted).filter(([name, value]) => !jsonEqual(value, present[name]));
  const removed = sent.filter((name) => !Object.hasOwn(wanted, name)).map((name) => [name, null] as const);
  if (changed.length === 0 && removed.length === 0) return undefined;
  return Object.fromEntries<unknown>([...changed, ...removed]);
}
